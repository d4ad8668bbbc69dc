package preflight

import (
	"context"
	"net/url"
	"strings"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
)

// State tries whether the bucket with the state does what the engine needs. It stores a small object there and deletes it. The error is the
// context's.
func State(ctx context.Context, probe bucket.Probe) (Check, error) {
	err := probe.Run(ctx)
	if ctx.Err() != nil {
		return Check{}, context.Cause(ctx)
	}
	var s collector
	if err == nil {
		s.ok("state", "the bucket of the state, %s, stores, returns, copies, lists and deletes objects", shown(probe.URL))
		return s.checks[0], nil
	}
	what, do := err.Error(), "see its URL, em-infra:backend in the file of the stack or backend.url in Pulumi.yaml"
	if at := strings.LastIndex(what, ": "); at >= 0 {
		what, do = what[:at], what[at+len(": "):]
	}
	s.fail("state", do, "%s", what)
	return s.checks[0], nil
}

// shown returns a URL without its parameters.
func shown(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return "that cannot be read"
	}
	return address.Shown(parsed)
}
