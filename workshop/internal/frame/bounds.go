package frame

import (
	"fmt"
	"math"
	"regexp"
	"unicode/utf8"

	"guildhall.dev/workshop/internal/limit"
)

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

func checkHash(hash *string) error {
	if hash != nil && !sha256Text.MatchString(*hash) {
		return fmt.Errorf("'expectSHA256' is not 64 lower-case hexadecimal digits")
	}
	return nil
}

func within[N int | int64 | float64](name string, value, low, high N) error {
	if value < low || value > high {
		return fmt.Errorf("'%s' is %v; it must lie in %v..%v", name, value, low, high)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Read) check() error {
	line := int64(1)
	if r.Line != nil {
		line = *r.Line
	}
	return first(r.checkPath(), within("offset", r.Offset, 0, math.MaxInt64),
		within("limit", r.Limit, 1, limit.FrameDataMaxBytes), within("line", line, 1, 1<<53-1))
}

func (r *Write) check() error  { return first(r.checkPath(), checkHash(r.ExpectSHA256)) }
func (r *Edit) check() error   { return first(r.checkPath(), checkHash(r.ExpectSHA256)) }
func (r *Mkdir) check() error  { return r.checkPath() }
func (r *Delete) check() error { return r.checkPath() }
func (r *Stat) check() error   { return r.checkPath() }
func (r *Diff) check() error {
	return within("limitBytes", r.LimitBytes, 1, limit.PatchMaxBytes)
}

func (r *List) check() error {
	return first(r.checkPath(), within("depth", r.Depth, 1, 32), within("limit", r.Limit, 1, limit.ListMaxEntries))
}

func (r *Search) check() error {
	if size := utf8.RuneCountInString(r.Pattern); size < 1 || size > limit.SearchPatternMaxChars {
		return fmt.Errorf("'pattern' has %d characters; it must have 1..%d", size, limit.SearchPatternMaxChars)
	}
	if r.Glob != nil && utf8.RuneCountInString(*r.Glob) > limit.SearchGlobMaxChars {
		return fmt.Errorf("'glob' is longer than %d characters", limit.SearchGlobMaxChars)
	}
	return first(r.checkPath(), within("limit", r.Limit, 1, limit.SearchMaxMatches))
}

func (r *Exec) check() error {
	if size := len(r.Command); size < 1 || size > limit.CommandMaxBytes {
		return fmt.Errorf("'command' has %d bytes; it must have 1..%d", size, limit.CommandMaxBytes)
	}
	if utf8.RuneCountInString(r.Cwd) > limit.PathMaxChars {
		return fmt.Errorf("'cwd' is longer than %d characters", limit.PathMaxChars)
	}
	if len(r.Env) > limit.EnvMaxCount {
		return fmt.Errorf("'env' has %d entries; at most %d are allowed", len(r.Env), limit.EnvMaxCount)
	}
	return first(
		above("wallSeconds", r.WallSeconds), above("idleSeconds", r.IdleSeconds),
		within("headBytes", r.HeadBytes, 0, limit.CommandOutputPartMaxBytes),
		within("tailBytes", r.TailBytes, 0, limit.CommandOutputPartMaxBytes),
	)
}

func above(name string, seconds float64) error {
	if seconds <= 0 || seconds > limit.CommandWallMaxSeconds {
		return fmt.Errorf("'%s' is %v; it must be above 0 and at most %d", name, seconds, limit.CommandWallMaxSeconds)
	}
	return nil
}

func (r *Jobs) check() error {
	if r.Job == nil {
		return nil
	}
	return within("job", *r.Job, 1, 1<<53-1)
}

func checkTarget(target int64) error { return within("target", target, 1, 1<<53-1) }

func (r *Stdin) check() error  { return checkTarget(r.Target) }
func (r *Cancel) check() error { return checkTarget(r.Target) }
func (r *Kill) check() error {
	if r.Signal != "TERM" && r.Signal != "KILL" && r.Signal != "INT" {
		return fmt.Errorf("'signal' is %.20q; it must be TERM, KILL or INT", r.Signal)
	}
	return checkTarget(r.Target)
}
