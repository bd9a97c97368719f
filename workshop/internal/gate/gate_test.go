package gate

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestCountBeginsAnewAfterAnAnswer(t *testing.T) {
	e := Evidence{Required: true}
	for _, seen := range []string{Refused, Timeout, Answered, Unreachable, Refused} {
		e = e.next(seen)
	}
	if e.Attempts != 5 || e.DeniedInRow != 2 || e.settled(3) || !e.settled(2) || e.Last != Refused {
		t.Fatalf("%+v", e)
	}
	reported := Evidence{}.next(Answered).next(Answered)
	if !reported.settled(2) || reported.settled(3) {
		t.Fatalf("%+v", reported)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := `{"targets":[{"name":"canary","host":"127.0.0.1","port":1},{"name":"node","host":"::1","port":2,"required":false}],"gatewayHost":"gw","gatewayPort":3}`
	config, err := ParseConfig(good)
	if err != nil || !config.Targets[0].Required || config.Targets[1].Required || !config.Enforce || config.ConsecutiveDenials != 3 {
		t.Fatalf("%+v %v", config, err)
	}
	for _, change := range [][2]string{
		{`"port":1`, `"port":0`}, {`"gatewayPort":3`, `"gatewayPort":70000`}, {`"canary"`, `"Canary!"`}, {`"127.0.0.1"`, `"a b"`},
		{`"gw"`, `""`}, {`"gatewayPort":3`, `"gatewayPort":3,"consecutiveDenials":0`}, {`"gatewayPort":3`, `"gatewayPort":3,"timeoutSeconds":601`},
		{good, `{}`}, {good, ``}, {good, `[]`}, {`"port":2`, `"port":"x"`},
	} {
		if _, err := ParseConfig(strings.Replace(good, change[0], change[1], 1)); err == nil {
			t.Errorf("%s was accepted", change[1])
		}
	}
}

// server listens on the loopback; speak says whether it answers what it accepts.
func server(t *testing.T, speak bool) (port int, accepted *atomic.Int64, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, listener, speak)
}

func serve(t *testing.T, listener net.Listener, speak bool) (port int, accepted *atomic.Int64, stop func()) {
	accepted = &atomic.Int64{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			if speak {
				fmt.Fprint(conn, "HTTP/1.1 401 Unauthorized\r\n\r\n")
				conn.Close()
			}
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port, accepted, func() { listener.Close() }
}

func deadPort(t *testing.T) int {
	port, _, stop := server(t, false)
	stop()
	return port
}

func configFor(gateway int, targets ...Target) Config {
	return Config{
		Targets: targets, GatewayHost: "127.0.0.1", GatewayPort: gateway,
		ConsecutiveDenials: 2, AttemptTimeoutMilliseconds: 200, TimeoutSeconds: 1, Enforce: true,
	}
}

func TestGatePassesOnlyWhenDeniedAndTheGatewayAnswers(t *testing.T) {
	gateway, _, _ := server(t, true)
	listening, accepted, _ := server(t, false)
	dead := deadPort(t)
	canary := func(port int) Target { return Target{"canary", "127.0.0.1", port, true} }
	node := Target{"node", "127.0.0.1", listening, false}

	passed := Run(context.Background(), configFor(gateway, canary(dead), node))
	if passed.Outcome != Passed || passed.Targets[0].DeniedInRow != 2 || passed.Targets[0].Last != Refused || passed.Targets[1].Last != Answered {
		t.Errorf("%+v", passed)
	}
	before := accepted.Load()
	open := Run(context.Background(), configFor(gateway, canary(listening)))
	if open.Outcome != NotEnforced || open.Targets[0].Last != Answered || !strings.Contains(open.Message, "canary") {
		t.Errorf("%+v", open)
	}
	if accepted.Load() == before {
		t.Error("the open target was never reached: the control is broken")
	}
	relaxed := configFor(gateway, canary(listening))
	relaxed.Enforce = false
	if got := Run(context.Background(), relaxed); got.Outcome != Passed || !strings.Contains(got.Message, "not enforced") {
		t.Errorf("%+v", got)
	}
	if got := Run(context.Background(), configFor(dead, canary(dead))); got.Outcome != GatewayUnreachable {
		t.Errorf("%+v", got)
	}
}

// A required target of the other family counts as much as the first: a policy may be enforced for one of them alone.
func TestEachFamilyIsTried(t *testing.T) {
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 loopback: %v", err)
	}
	six, accepted, stop := serve(t, listener, true)
	gateway, _, _ := server(t, true)
	config := configFor(gateway, Target{"canary", "127.0.0.1", deadPort(t), true}, Target{"canary-ipv6", "::1", six, true})
	open := Run(context.Background(), config)
	if open.Outcome != NotEnforced || open.Targets[0].Last != Refused || open.Targets[1].Last != Answered || accepted.Load() == 0 {
		t.Errorf("%+v", open)
	}
	if !strings.Contains(open.Message, "canary-ipv6 answered") {
		t.Error(open.Message)
	}
	stop()
	shut := Run(context.Background(), config)
	if shut.Outcome != Passed || shut.Targets[1].Last != Refused || shut.Targets[1].DeniedInRow != 2 {
		t.Errorf("%+v", shut)
	}
	config.GatewayHost = "::1"
	if got := Run(context.Background(), config); got.Outcome != GatewayUnreachable {
		t.Errorf("%+v", got)
	}
}

// silent is an address whose connections never come about: the queue of its port is full.
func silent(t *testing.T) (host string, port int) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port = bound.(*syscall.SockaddrInet4).Port
	for range 3 {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 100*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { conn.Close() })
		}
	}
	return "127.0.0.1", port
}

func TestReportedTargetsAreNotWaitedFor(t *testing.T) {
	gateway, _, _ := server(t, true)
	host, port := silent(t)
	canary := Target{"canary", "127.0.0.1", deadPort(t), true}
	config := configFor(gateway, canary)
	config.ConsecutiveDenials, config.AttemptTimeoutMilliseconds, config.TimeoutSeconds = 3, 1_000, 10
	began := time.Now()
	Run(context.Background(), config)
	alone := time.Since(began)
	for range 8 {
		config.Targets = append(config.Targets, Target{"reported", host, port, false})
	}
	began = time.Now()
	passed := Run(context.Background(), config)
	if took := time.Since(began); took > alone+500*time.Millisecond {
		t.Errorf("%v with reported targets, %v without", took, alone)
	}
	if passed.Outcome != Passed || passed.Targets[0].DeniedInRow != 3 || passed.Targets[8].Last != Timeout || passed.Targets[8].Name != "reported" {
		t.Errorf("%+v", passed)
	}
	config.Targets = []Target{canary, {"required", host, port, true}}
	began = time.Now()
	got := Run(context.Background(), config)
	took := time.Since(began)
	if got.Outcome != Passed || got.Targets[1].Last != Timeout || got.Targets[1].DeniedInRow != 3 || took < time.Second {
		t.Errorf("control: a required one that says nothing is waited for; %v %+v", took, got)
	}
	if took > 2*time.Second {
		t.Errorf("%v: three waits of a second did not overlap", took)
	}
}

func TestAnswersInBetweenBeginTheCountAnew(t *testing.T) {
	gateway, _, _ := server(t, true)
	port, accepted, stop := server(t, false)
	config := configFor(gateway, Target{"canary", "127.0.0.1", port, true})
	config.ConsecutiveDenials, config.TimeoutSeconds = 3, 10
	time.AfterFunc(500*time.Millisecond, stop)
	got := Run(context.Background(), config)
	evidence := got.Targets[0]
	answered := int64(evidence.Attempts) - 3 // one may have been queued when the listener went
	if got.Outcome != Passed || evidence.DeniedInRow != 3 || answered < accepted.Load() || answered > accepted.Load()+1 || answered < 2 {
		t.Errorf("%d answered; %+v", accepted.Load(), got)
	}
}

func TestOwnNodeIsTriedWhereTheKubeletNamesIt(t *testing.T) {
	gateway, _, _ := server(t, true)
	node, accepted, _ := server(t, true)
	config := configFor(gateway, Target{"canary", "127.0.0.1", deadPort(t), true})
	config.OwnNodePort = node
	for _, unknown := range []string{"", "node-1", "127.0.0.1:1"} {
		if got := config.WithNode(unknown); len(got.Targets) != 1 {
			t.Errorf("%q: %+v", unknown, got.Targets)
		}
	}
	got := Run(context.Background(), config.WithNode("127.0.0.1"))
	if got.Outcome != Passed || len(got.Targets) != 2 || got.Targets[1].Name != "own-node" || got.Targets[1].Last != Answered || got.Targets[1].Required {
		t.Errorf("%+v", got)
	}
	if accepted.Load() == 0 || len(config.Targets) != 1 {
		t.Errorf("accepted %d, %+v", accepted.Load(), config.Targets)
	}
	config.OwnNodePort = 0
	if got := config.WithNode("127.0.0.1"); len(got.Targets) != 1 {
		t.Errorf("%+v", got.Targets)
	}
}

func TestPolicyThatComesLateIsWaitedFor(t *testing.T) {
	gateway, _, _ := server(t, true)
	port, _, stop := server(t, false)
	time.AfterFunc(400*time.Millisecond, stop)
	config := configFor(gateway, Target{"canary", "127.0.0.1", port, true})
	config.TimeoutSeconds = 10
	got := Run(context.Background(), config)
	if got.Outcome != Passed || got.Targets[0].Attempts < 4 {
		t.Fatalf("%+v", got)
	}
}

func TestSilentGatewayIsNoAnswer(t *testing.T) {
	silent, _, _ := server(t, false)
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", silent))
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	if answers(conn) {
		t.Fatal("silence was taken for an answer")
	}
	speaking, _, _ := server(t, true)
	conn, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", speaking))
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(time.Second))
	if !answers(conn) {
		t.Fatal("the control did not answer")
	}
}
