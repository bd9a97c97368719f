// Package gate guards against a cluster that accepts NetworkPolicies and does not enforce them: nothing of the
// workspace runs before every required target has refused, several times in a row, and the gateway has answered.
package gate

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"time"

	"guildhall.dev/workshop/internal/limit"
)

// Target is one TCP address to try.
type Target struct {
	Name     string `json:"name"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Required bool   `json:"required"`
}

// Config is the contract's GateConfig.
type Config struct {
	Targets                    []Target `json:"targets"`
	GatewayHost                string   `json:"gatewayHost"`
	GatewayPort                int      `json:"gatewayPort"`
	ConsecutiveDenials         int      `json:"consecutiveDenials"`
	AttemptTimeoutMilliseconds int      `json:"attemptTimeoutMilliseconds"`
	TimeoutSeconds             int      `json:"timeoutSeconds"`
	OwnNodePort                int      `json:"ownNodePort"`
	Enforce                    bool     `json:"enforce"`
}

var (
	targetName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	hostName   = regexp.MustCompile(`^[A-Za-z0-9.:-]{1,253}$`)
)

// WithNode adds the pod's own node, whose address only the kubelet can say. It is shown, not required to be silent:
// Kubernetes exempts it from NetworkPolicies.
func (c Config) WithNode(address string) Config {
	if c.OwnNodePort == 0 || net.ParseIP(address) == nil || len(c.Targets) >= limit.GateTargetsMaxCount {
		return c
	}
	c.Targets = append(slices.Clone(c.Targets), Target{Name: "own-node", Host: address, Port: c.OwnNodePort})
	return c
}

// UnmarshalJSON makes a target required unless it says otherwise.
func (t *Target) UnmarshalJSON(raw []byte) error {
	type plain Target
	filled := plain{Required: true}
	if err := json.Unmarshal(raw, &filled); err != nil {
		return err
	}
	*t = Target(filled)
	return nil
}

// ParseConfig decodes and checks GUILDHALL_GATE.
func ParseConfig(text string) (Config, error) {
	config := Config{
		ConsecutiveDenials: limit.GateConsecutiveDenialsCount, AttemptTimeoutMilliseconds: 1_000,
		TimeoutSeconds: limit.GateTimeoutSeconds, Enforce: true,
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return config, fmt.Errorf("GUILDHALL_GATE is not a gate configuration: %w", err)
	}
	return config, config.check()
}

func (c *Config) check() error {
	for _, bound := range []struct {
		name             string
		value, low, high int
	}{
		{"the number of targets", len(c.Targets), 1, limit.GateTargetsMaxCount},
		{"gatewayPort", c.GatewayPort, 1, 65_535},
		{"consecutiveDenials", c.ConsecutiveDenials, 1, 20},
		{"attemptTimeoutMilliseconds", c.AttemptTimeoutMilliseconds, 50, 10_000},
		{"timeoutSeconds", c.TimeoutSeconds, 1, 600},
		{"ownNodePort", c.OwnNodePort, 0, 65_535},
	} {
		if bound.value < bound.low || bound.value > bound.high {
			return fmt.Errorf("GUILDHALL_GATE: %s is %d; it must lie in %d..%d", bound.name, bound.value, bound.low, bound.high)
		}
	}
	if !hostName.MatchString(c.GatewayHost) {
		return fmt.Errorf("GUILDHALL_GATE: gatewayHost is not a host")
	}
	for _, target := range c.Targets {
		if !targetName.MatchString(target.Name) || !hostName.MatchString(target.Host) || target.Port < 1 || target.Port > 65_535 {
			return fmt.Errorf("GUILDHALL_GATE: target %.40q has no proper name, host and port", target.Name)
		}
	}
	return nil
}

// What an attempt can come to.
const (
	Refused     = "refused"
	Timeout     = "timeout"
	Unreachable = "unreachable"
	Answered    = "answered"
)

// Evidence is what happened at one target so far.
type Evidence struct {
	Name        string `json:"name"`
	Required    bool   `json:"required"`
	Attempts    int    `json:"attempts"`
	DeniedInRow int    `json:"deniedInARow"`
	Last        string `json:"last"`
}

// next adds one attempt. An answer begins the count anew: a policy takes a moment to be in force on a new pod.
func (e Evidence) next(seen string) Evidence {
	e.Attempts++
	e.Last = seen
	e.DeniedInRow++
	if seen == Answered {
		e.DeniedInRow = 0
	}
	return e
}

// settled says that no further attempt is needed.
func (e Evidence) settled(denials int) bool {
	return e.DeniedInRow >= denials || !e.Required && e.Attempts >= denials
}

// open lists the required targets that were not denied often enough.
func open(evidence []Evidence, denials int) []string {
	var names []string
	for _, one := range evidence {
		if one.Required && one.DeniedInRow < denials {
			names = append(names, one.Name)
		}
	}
	return names
}

// pause spaces attempts, so that denials in a row span some time.
const pause = 150 * time.Millisecond

// reportedFor is what the targets that are only reported may cost.
const reportedFor = 150 * time.Millisecond
