package preflight

import (
	"cmp"
	"context"
	"net/url"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/remedy"
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
	what, do := remedy.Split(err)
	s.fail("state", cmp.Or(do, "see its URL, em-infra:backend in the file of the stack or backend.url in Pulumi.yaml"), "%s", what)
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
