package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Outcomes of a gate, as the contract names them.
const (
	Passed             = "passed"
	NotEnforced        = "not_enforced"
	GatewayUnreachable = "gateway_unreachable"
)

// Verdict is how the gate ended.
type Verdict struct {
	Outcome string
	Message string
	Targets []Evidence
}

// Run tries all required targets at once until each is settled or the time is over, then the gateway until it answers,
// and then, for a moment, what is only reported: refusals are answered at a limited rate, and a kernel that has
// answered its share keeps silent to the required ones.
func Run(ctx context.Context, config Config) Verdict {
	verdict := judge(ctx, config)
	moment, cut := context.WithTimeout(ctx, reportedFor)
	defer cut()
	for i, evidence := range try(moment, config, false) {
		if !config.Targets[i].Required {
			verdict.Targets[i] = evidence
		}
	}
	return verdict
}

// judge decides by the required targets and the gateway.
func judge(ctx context.Context, config Config) Verdict {
	within, stop := context.WithTimeout(ctx, time.Duration(config.TimeoutSeconds)*time.Second)
	defer stop()
	evidence := try(within, config, true)
	verdict := Verdict{Outcome: Passed, Targets: evidence}
	if names := open(evidence, config.ConsecutiveDenials); len(names) > 0 {
		verdict.Message = fmt.Sprintf("isolation is not enforced: %s answered or was not denied %d times in a row within %d s; "+
			"install a network plugin that enforces NetworkPolicy", strings.Join(names, ", "), config.ConsecutiveDenials, config.TimeoutSeconds)
		if config.Enforce {
			verdict.Outcome = NotEnforced
			return verdict
		}
		within, stop = context.WithTimeout(ctx, time.Duration(config.TimeoutSeconds)*time.Second)
		defer stop()
	}
	if !gatewayAnswers(within, config) {
		verdict.Outcome = GatewayUnreachable
		verdict.Message = fmt.Sprintf("the gateway did not answer on port %d within %d s; check that it runs and that the "+
			"namespace's NetworkPolicy allows it", config.GatewayPort, config.TimeoutSeconds)
	}
	return verdict
}

// try waits for every target that is required, or for every other one, tried at once; the places of the others stay
// empty.
func try(ctx context.Context, config Config, required bool) []Evidence {
	evidence := make([]Evidence, len(config.Targets))
	var all sync.WaitGroup
	for i, target := range config.Targets {
		if target.Required == required {
			all.Go(func() { evidence[i] = tryTarget(ctx, config, target) })
		}
	}
	all.Wait()
	return evidence
}

// tryTarget counts denials in the order in which the attempts began.
func tryTarget(ctx context.Context, config Config, target Target) Evidence {
	evidence := Evidence{Name: target.Name, Required: target.Required, Last: Timeout}
	within, stop := context.WithCancel(ctx)
	defer stop()
	for flight := range attempts(within, config, target) {
		seen := <-flight
		if ctx.Err() != nil && seen != Answered {
			return evidence // cut short: no evidence
		}
		evidence = evidence.next(seen)
		if evidence.settled(config.ConsecutiveDenials) {
			return evidence
		}
	}
	return evidence
}

// attempts begins one each pause, and as many at a time as must be denied: where packets are dropped without a word,
// the waits for their answers overlap.
func attempts(ctx context.Context, config Config, target Target) <-chan chan string {
	flights := make(chan chan string, config.ConsecutiveDenials-1)
	go func() {
		defer close(flights)
		for {
			flight := make(chan string, 1)
			go func() { flight <- attempt(ctx, config, target.Host, target.Port) }()
			select {
			case flights <- flight:
			case <-ctx.Done():
				return
			}
			if !wait(ctx, pause) {
				return
			}
		}
	}()
	return flights
}

func attempt(ctx context.Context, config Config, host string, port int) string {
	conn, err := dial(ctx, config, host, port)
	if err == nil {
		conn.Close()
	}
	return classify(err)
}

func dial(ctx context.Context, config Config, host string, port int) (net.Conn, error) {
	dialer := net.Dialer{Timeout: time.Duration(config.AttemptTimeoutMilliseconds) * time.Millisecond}
	return dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

func classify(err error) string {
	var late net.Error
	switch {
	case err == nil:
		return Answered
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.As(err, &late) && late.Timeout():
		return Timeout
	}
	return Unreachable
}

// gatewayAnswers waits until the gateway takes a connection and says or ends something on it: a proxy that takes
// connections for a dead server would keep silent.
func gatewayAnswers(ctx context.Context, config Config) bool {
	for {
		if speaks(ctx, config) {
			return true
		}
		if !wait(ctx, pause) {
			return false
		}
	}
}

func speaks(ctx context.Context, config Config) bool {
	conn, err := dial(ctx, config, config.GatewayHost, config.GatewayPort)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(3 * time.Second))
	return answers(conn)
}

func wait(ctx context.Context, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
