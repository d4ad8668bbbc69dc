package proxmox_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// malformed returns a request that violates as much of its parameters' declaration as possible, and Proxmox VE's error for
// each.
func malformed(e proxmox.Endpoint, m *schema.Method) (params url.Values, expected map[string]string) {
	params = url.Values{"em-infra-no-such": {"1"}}
	expected = map[string]string{
		"em-infra-no-such": "property is not defined in schema and the schema does not allow additional properties",
	}

	for name, p := range m.Parameters {
		at := strings.Replace(name, "[n]", "0", 1)

		switch {
		case strings.Contains(e.Path, "{"+name+"}"):
		case p.Type == schema.Integer || p.Type == schema.NumberT || p.Type == schema.Boolean:
			params.Set(at, "x!")
			expected[at] = "type check ('" + string(p.Type) + "') failed - got 'x!'"
		case len(p.Enum) > 0 && p.Format.Name == "": // the format is checked first
			params.Set(at, "x!")
			expected[at] = "value 'x!' does not have a value in the enumeration '" + strings.Join(p.Enum, ", ") + "'"
		case !bool(p.Optional) && !strings.HasSuffix(name, "[n]") && p.Type != "":
			expected[name] = "property is missing and it is not optional"
		}
	}

	return params, expected
}

// TestParametersAreAsDeclared sends invalid parameters to every method of both releases, and checks that each is refused with
// Proxmox VE's text.
func TestParametersAreAsDeclared(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		described, err := schema.Load(release)
		require.NoError(t, err)

		l, upid := populated(t, release)

		for _, e := range proxmox.Endpoints() {
			if strings.HasSuffix(e.Path, "/upload") {
				continue // it accepts no form
			}

			t.Run(string(release)+" "+e.Verb+" "+e.Path, func(t *testing.T) {
				t.Parallel()

				method, ok := described.Method(e.Verb, e.Path)
				require.True(t, ok)

				params, expected := malformed(e, method)
				r := l.do(e.Verb, fill(e.Path, upid), params)

				// Methods that need a session with a password are refused before the parameters are checked.
				if !method.TokenAllowed() && method.Permissions.Test != schema.Everyone {
					require.Contains(t, r.Status, "not available with API token, need proper ticket.")
					return
				}

				require.Equal(t, "400 Parameter verification failed.", r.Status, r.Raw)

				for name, problem := range expected {
					require.Equal(t, problem, r.Errors[name], name)
				}
			})
		}
	}
}
