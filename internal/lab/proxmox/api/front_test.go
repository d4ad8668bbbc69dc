package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/journal"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// gate implements every check of a front.
type gate struct {
	// identity is the caller; "" refuses the login.
	identity string
	// refused is the error of the permission check.
	refused error
	// fault is the error of a fault.
	fault error
}

func (g gate) Authenticate(*http.Request, string) (string, error) {
	if g.identity == "" {
		return "", errors.New("No ticket")
	}

	return g.identity, nil
}

func (g gate) Evaluate(schema.Rule, string, schema.Params) error { return g.refused }

func (g gate) Call(context.Context, journal.Entry) error { return g.fault }
func (g gate) Lost(journal.Entry) bool                   { return false }

func (g gate) Has(node string) bool { return node == "vmhost" }

const (
	status   = "/nodes/{node}/qemu/{vmid}/status/current"
	password = "/access/password"
)

// TestNobodyComesPastTheChecks checks that a method is called only after all checks, in the order of Proxmox VE, and that it
// receives the verified values.
func TestNobodyComesPastTheChecks(t *testing.T) {
	t.Parallel()

	open := gate{identity: "root@pam"}

	tests := map[string]struct {
		gate       gate
		verb, path string
		body       string
		status     int
		message    string
	}{
		"another API":        {open, http.MethodGet, "/api2/text/nodes/vmhost/qemu/101/status/current", "", 501, ""},
		"no login":           {gate{}, http.MethodGet, "/api2/json/nodes/vmhost/qemu/101/status/current", "", 401, ""},
		"no login, no check": {gate{refused: &access.Refusal{}}, http.MethodGet, "/api2/json/nodes/vmhost/qemu/101/status/current", "", 401, ""},
		"an unknown method":  {open, http.MethodPost, "/api2/json/nodes/vmhost/qemu/101/status/current", "", 501, "Method 'POST /nodes/vmhost/qemu/101/status/current' not implemented"},
		"another parameter": {
			open, http.MethodGet, "/api2/json/nodes/vmhost/qemu/101/status/current?node=other", "", 400, "Parameter verification failed.\n",
		},
		"a fault": {
			gate{identity: "root@pam", fault: errors.New("out of order")}, http.MethodGet,
			"/api2/json/nodes/vmhost/qemu/101/status/current", "", 500, "out of order\n",
		},
		"a method for sessions only": {
			gate{identity: "root@pam!t"}, http.MethodPut, "/api2/json/access/password", "userid=root@pam&password=secret", 403,
			"Permission check failed (URI '/access/password' not available with API token, need proper ticket.\n)\n",
		},
		"no permission": {
			gate{identity: "a@pve", refused: &access.Refusal{Detail: "/vms/101, VM.Audit"}}, http.MethodGet,
			"/api2/json/nodes/vmhost/qemu/101/status/current", "", 403, "Permission check failed (/vms/101, VM.Audit)\n",
		},
		"no permission, before parameters": {
			gate{identity: "a@pve", refused: &access.Refusal{}}, http.MethodGet,
			"/api2/json/nodes/vmhost/qemu/101/status/current?bogus=1", "", 403, "Permission check failed\n",
		},
		"another node": {
			open, http.MethodGet, "/api2/json/nodes/other/qemu/101/status/current", "", 500,
			"hostname lookup 'other' failed - failed to get address info for: other: Name or service not known\n",
		},
		"a parameter that is not declared": {
			open, http.MethodGet, "/api2/json/nodes/vmhost/qemu/101/status/current?bogus=1", "", 400, "Parameter verification failed.\n",
		},
		"a parameter of another form": {
			open, http.MethodGet, "/api2/json/nodes/vmhost/qemu/9x/status/current", "", 400, "Parameter verification failed.\n",
		},
		"all is well": {open, http.MethodGet, "/api2/json/nodes/vmhost/qemu/101/status/current", "", 200, ""},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var answered []*api.Call

			answer := func(c *api.Call) (any, error) {
				answered = append(answered, c)
				return "here", nil
			}

			request := httptest.NewRequest(test.verb, test.path, strings.NewReader(test.body))
			if test.body != "" {
				request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}

			recorded := httptest.NewRecorder()
			newFront(t, test.gate, answer).ServeHTTP(recorded, request)

			require.Equal(t, test.status, recorded.Code, recorded.Body)

			if test.message != "" {
				require.Contains(t, recorded.Body.String(), `"message":`+quoted(test.message))
			}

			if test.status != http.StatusOK {
				require.Empty(t, answered, "a method was answered past a check")
				return
			}

			require.Len(t, answered, 1)
			require.Equal(t, "vmhost", answered[0].Node)
			require.Equal(t, 101, answered[0].VMID)
			require.Equal(t, "root@pam", answered[0].Identity)
			require.JSONEq(t, `{"data":"here"}`, recorded.Body.String())
		})
	}
}

// quoted returns a text in JSON.
func quoted(text string) string {
	return `"` + strings.NewReplacer("\n", `\n`).Replace(text) + `"`
}

func newFront(t *testing.T, g gate, answer func(*api.Call) (any, error)) *api.Front {
	t.Helper()

	described, err := schema.Load(schema.Release84)
	require.NoError(t, err)

	front, err := api.NewFront(api.Config{
		Release: schema.Release84, Schema: described, Methods: []api.Method{api.Get(status, answer), api.Put(password, answer)},
		Access: g, Nodes: g, Faults: g, Journal: journal.New(io.Discard), Now: time.Now,
	})
	require.NoError(t, err)

	return front
}

// TestMethodsAreThoseOfTheDescription checks that a method without a description is refused: neither its parameters nor its
// permissions could be checked.
func TestMethodsAreThoseOfTheDescription(t *testing.T) {
	t.Parallel()

	described, err := schema.Load(schema.Release91)
	require.NoError(t, err)

	_, err = api.NewFront(api.Config{
		Release: schema.Release91, Schema: described, Methods: []api.Method{api.Get("/nodes/{node}/coffee", nil)},
	})
	require.EqualError(t, err, "GET /nodes/{node}/coffee is not in the embedded description of proxmox ve 9.1: run go generate")
}
