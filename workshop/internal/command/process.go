// Package command guards the machine from shell commands: what a command starts, however it hides, ends with the call.
package command

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// process is one line of the process table.
type process struct {
	pid, parent, group int
	zombie, stopped    bool // zombie: nothing of it runs; stopped: by a signal or by whoever traces it
}

// threadsField is where a stat says how many threads a process has, counted from its state on.
const threadsField = 17

// parseStat reads /proc/<pid>/stat; the name in it may hold anything, so fields count from its last ")".
func parseStat(stat []byte) (process, bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return process{}, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 3 {
		return process{}, false
	}
	pid, err1 := strconv.Atoi(string(bytes.TrimSpace(stat[:open])))
	parent, err2 := strconv.Atoi(string(fields[1]))
	group, err3 := strconv.Atoi(string(fields[2]))
	one := process{pid: pid, parent: parent, group: group}
	switch string(fields[0]) {
	case "X":
		one.zombie = true
	case "Z":
		one.zombie = !worksOn(fields)
	case "T", "t":
		one.stopped = true
	}
	return one, err1 == nil && err2 == nil && err3 == nil
}

// worksOn says whether a process whose first thread has ended has others: it shows as a zombie while they work.
func worksOn(fields [][]byte) bool {
	if len(fields) <= threadsField {
		return false
	}
	threads, err := strconv.Atoi(string(fields[threadsField]))
	return err == nil && threads > 1
}

// table reads the process table; processes that end meanwhile are left out.
func table() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make([]process, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if one, ok := look(name); ok {
			all = append(all, one)
		}
	}
	return adopted(all, func(pid int) (process, bool) { return look(strconv.Itoa(pid)) })
}

func look(pid string) (process, bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return process{}, false
	}
	return parseStat(stat)
}

const adoptionRounds = 5

// adopted looks again at processes whose parent is not in the table: it ended while the table was read, and they have
// a new parent now. Without this a fork bomb, whose parents all end at once, would seem to have no children.
func adopted(all []process, again func(pid int) (process, bool)) []process {
	for range adoptionRounds {
		known := make(map[int]bool, len(all))
		for _, one := range all {
			known[one.pid] = true
		}
		changed := false
		for i := range all {
			if all[i].parent == 0 || known[all[i].parent] {
				continue
			}
			if now, ok := again(all[i].pid); ok && now.parent != all[i].parent {
				all[i], changed = now, true
			}
		}
		if !changed {
			break
		}
	}
	return all
}

// below gives the living descendants of ancestor, itself left out.
func below(all []process, ancestor int) []process {
	children := map[int][]process{}
	for _, one := range all {
		children[one.parent] = append(children[one.parent], one)
	}
	var found []process
	queue := []int{ancestor}
	for len(queue) > 0 {
		for _, child := range children[queue[0]] {
			queue = append(queue, child.pid)
			if !child.zombie {
				found = append(found, child)
			}
		}
		queue = queue[1:]
	}
	return found
}

// signalAll signals processes group by group first: one group signal cannot be outrun by a fork.
func signalAll(found []process, signal unix.Signal) {
	groups := map[int]bool{}
	for _, one := range found {
		if one.group == one.pid && !groups[one.group] {
			groups[one.group] = true
			unix.Kill(-one.group, signal)
		}
	}
	for _, one := range found {
		if !groups[one.group] {
			unix.Kill(one.pid, signal)
		}
	}
}
