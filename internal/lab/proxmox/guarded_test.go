package proxmox_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// TestEveryMethodIsGuarded calls each method without a login, and with an undefined parameter. Both are refused.
func TestEveryMethodIsGuarded(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	fill := strings.NewReplacer("{node}", node, "{vmid}", "101", "{storage}", "tank", "{upid}", "x", "{iface}", "vmbr0",
		"{volume}", "x", "{id}", "x", "{poolid}", "x", "{sid}", "vm:101", "{userid}", "terraform@pve", "{tokenid}", "x", "{roleid}", "x",
		"{groupid}", "x", "{snapname}", "x")

	for _, e := range proxmox.Endpoints() {
		path := fill.Replace(e.Path)
		require.NotContains(t, path, "{", "this test does not know a parameter of the path")

		if e.Path == "/access/ticket" || strings.HasSuffix(e.Path, "/upload") {
			continue // the login itself, and a method whose body has another form
		}

		r, err := l.try(context.Background(), "", e.Verb, path, nil)
		require.NoError(t, err)
		require.Equal(t, "401 No ticket", r.Status, "%s %s", e.Verb, e.Path)

		r, err = l.try(context.Background(), l.token, e.Verb, path, url.Values{"coffee": {"1"}})
		require.NoError(t, err)

		status, _, _ := strings.Cut(r.Status, " ")
		require.Contains(t, []string{"400", "403"}, status, "%s %s: %s", e.Verb, e.Path, r.Status)

		if status == "400" {
			require.Contains(t, r.Errors, "coffee", "%s %s", e.Verb, e.Path)
		}
	}
}
