package command

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestParseStatBelievesNoName(t *testing.T) {
	for stat, want := range map[string]process{
		"12 (sh) S 1 12 12 0 -1 4194304":        {12, 1, 12, false, false},
		"12 (a) Z 1 (b) R 3 4 5 0":              {12, 3, 4, false, false},
		"13 (evil) S 1 1 1 0\n) Z 7 13 13 0 -1": {13, 7, 13, true, false},
		"14 ()) S 2 14 14 0":                    {14, 2, 14, false, false},
		"16 (stopped) T 2 16 16 0":              {16, 2, 16, false, true},
		"17 (traced) t 2 17 17 0":               {17, 2, 17, false, true},
		"15 (x y z) X 2 15 15 0":                {15, 2, 15, true, false},
		"18 (dead) Z 2 18" + threads("1"):       {18, 2, 18, true, false},
		"18 (leaderless) Z 2 18" + threads("2"): {18, 2, 18, false, false},
		"18 (odd) Z 2 18" + threads("many"):     {18, 2, 18, true, false},
		"19 (dead) X 2 19" + threads("2"):       {19, 2, 19, true, false},
	} {
		if got, ok := parseStat([]byte(stat)); !ok || got != want {
			t.Errorf("%q is %+v %v, not %+v", stat, got, ok, want)
		}
	}
	for _, stat := range []string{"", "()", "1 (", "1 )(", "x (a) S 1 2 3", "1 (a) S", "1 (a) S x y z"} {
		if got, ok := parseStat([]byte(stat)); ok {
			t.Errorf("%q is %+v", stat, got)
		}
	}
}

// threads is the rest of a stat behind its process group, as the kernel writes it.
func threads(count string) string {
	return " 12 0 -1 4228100 0 0 0 0 0 0 0 0 20 0 " + count + " 0 5190063 0 0 18446744073709551615"
}

func TestBelowFindsAllGenerationsAndNoZombie(t *testing.T) {
	all := []process{{5, 4, 5, false, false}, {1, 0, 1, false, false}, {3, 2, 2, false, false}, {2, 1, 2, false, false}, {4, 3, 2, true, false}, {9, 1, 9, false, false}}
	var pids []int
	for _, one := range below(all, 2) {
		pids = append(pids, one.pid)
	}
	slices.Sort(pids)
	if !slices.Equal(pids, []int{3, 5}) {
		t.Fatalf("%v", pids)
	}
}

func TestParentThatEndsMeanwhileHidesNobody(t *testing.T) {
	torn := []process{{pid: 1}, {pid: 2, parent: 1}, {pid: 9, parent: 8}, {pid: 7, parent: 6}, {pid: 5, parent: 4}}
	now := map[int]process{9: {pid: 9, parent: 2}, 7: {pid: 7, parent: 9}} // 5 has ended as well
	whole := adopted(torn, func(pid int) (process, bool) { one, ok := now[pid]; return one, ok })
	var pids []int
	for _, one := range below(whole, 2) {
		pids = append(pids, one.pid)
	}
	slices.Sort(pids)
	if !slices.Equal(pids, []int{7, 9}) {
		t.Fatalf("%v", pids)
	}
}

func TestKillBelowKillsOnlyBelow(t *testing.T) {
	// The ancestor begins nothing anew, as the keeper does not; what is below it tries to.
	inside := exec.Command("sh", "-c", "sleep 97 & sh -c 'sleep 98 & wait; sleep 99' & exec sleep 95")
	outside := exec.Command("sleep", "96")
	for _, one := range []*exec.Cmd{inside, outside} {
		if err := one.Start(); err != nil {
			t.Skip("no sh or sleep here")
		}
	}
	defer outside.Wait()
	defer outside.Process.Kill()
	for len(below(table(), inside.Process.Pid)) < 3 {
		time.Sleep(time.Millisecond)
	}
	if met := killBelow(inside.Process.Pid); met < 3 {
		t.Errorf("met %d processes", met)
	}
	if left := below(table(), inside.Process.Pid); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	inside.Process.Kill()
	inside.Wait()
	if !slices.ContainsFunc(below(table(), os.Getpid()), func(one process) bool { return one.pid == outside.Process.Pid }) {
		t.Fatal("the process beside was killed as well")
	}
}
