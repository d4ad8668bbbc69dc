package proxmox_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// malformed is a request with everything wrong that the declaration of its parameters lets be wrong at once, and what
// Proxmox VE says of each.
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
		case len(p.Enum) > 0 && p.Format.Name == "": // a format is looked at first
			params.Set(at, "x!")
			expected[at] = "value 'x!' does not have a value in the enumeration '" + strings.Join(p.Enum, ", ") + "'"
		case !bool(p.Optional) && !strings.HasSuffix(name, "[n]") && p.Type != "":
			expected[name] = "property is missing and it is not optional"
		}
	}

	return params, expected
}

// TestParametersAreAsDeclared sends every method of both releases parameters that its declaration refuses, and holds that
// each of them is refused in Proxmox VE's words.
func TestParametersAreAsDeclared(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		described, err := schema.Load(release)
		require.NoError(t, err)

		l, upid := populated(t, release)

		for _, e := range proxmox.Endpoints() {
			if strings.HasSuffix(e.Path, "/upload") {
				continue // it takes no form
			}

			t.Run(string(release)+" "+e.Verb+" "+e.Path, func(t *testing.T) {
				t.Parallel()

				method, ok := described.Method(e.Verb, e.Path)
				require.True(t, ok)

				params, expected := malformed(e, method)
				r := l.do(e.Verb, fill(e.Path, upid), params)

				// What a session with a password may do only is refused before anybody looks at the parameters.
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
