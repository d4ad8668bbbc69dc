package provider_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/truenas"
)

// TestABoxThatIsAway checks that the objects of such a box stay as they are in the state, without another attempt for each object. Nothing is
// created, changed or deleted there, but an object that always stays on the box is forgotten. Only a box that does not answer may be gone.
func TestABoxThatIsAway(t *testing.T) {
	t.Parallel()
	for fails, test := range map[string]struct{ text, orGone string }{
		"nas-off": {
			"TrueNAS does not answer at ENDPOINT (unexpected EOF): check the address, and that the box is on",
			"; or if that box is gone for good, set EM_INFRA_NAS_GONE=ENDPOINT, which forgets what this stack has there",
		},
		"nas-key-expired": {"the API key of em-infra has expired, or TrueNAS has revoked it: make another in Credentials > Users > API Keys", ""},
		"nas-only-rest":   {"TrueNAS at ENDPOINT has no JSON-RPC API: it is older than 25.04, update it", ""},
	} {
		t.Run(fails, func(t *testing.T) {
			t.Parallel()
			r := configured(t)
			r.box.Fail(fault.Fault{Name: fails})
			text, orGone := r.in(test.text), r.in(test.orGone)
			state := properties(map[string]any{"name": "csi", "apiKey": resource.MakeSecret(resource.NewProperty("1-made-up"))})
			inputs := properties(map[string]any{"name": "csi", "roles": []any{"DATASET_WRITE"}, "hasKey": true, "owner": owner})
			for range 2 {
				read := r.refresh("Account", "csi", inputs, state)
				require.Equal(t, plugin.ReadResult{ID: "csi", Inputs: inputs, Outputs: state}, read.ReadResult)
			}
			require.Equal(t, []string{"what this stack has on TrueNAS is not compared: " + text}, *r.warnings)
			require.Equal(t, 1, r.box.Occurred(fails), "it is asked once")

			_, err := r.Read(t.Context(), plugin.ReadRequest{Type: token("Dataset"), ID: "tank/k8s"})
			require.EqualError(t, err, text, "an import needs it")
			_, err = r.Create(t.Context(), plugin.CreateRequest{Type: token("Dataset"), Properties: properties(dataset())})
			require.EqualError(t, err, text)
			_, err = r.Delete(t.Context(), plugin.DeleteRequest{Type: token("Account"), ID: "csi", Inputs: inputs})
			require.EqualError(t, err, text+orGone)
			_, err = r.Delete(t.Context(), plugin.DeleteRequest{Type: token("Service"), ID: "nfs", Inputs: properties(map[string]any{"name": "nfs"})})
			require.NoError(t, err)
			require.Equal(t, "the service nfs of TrueNAS stays on: others may use it", (*r.warnings)[1])
		})
	}
}

// in puts the endpoint of the box into a text.
func (r rig) in(text string) string {
	return strings.ReplaceAll(text, "ENDPOINT", r.box.Connection.Endpoint)
}

// TestARunSaysThatTheKeyIsWrong: a refresh uses the key in the state, and a run may change nothing on the box, so neither would notice that a new key
// is wrong.
func TestARunSaysThatTheKeyIsWrong(t *testing.T) {
	t.Parallel()
	r := configured(t)
	checked := func() {
		for _, name := range []string{"tank/k8s", "tank/k8s/nfs"} {
			inputs := properties(dataset("name", name))
			answer, err := r.Check(t.Context(), plugin.CheckRequest{Type: token("Dataset"), Olds: inputs, News: inputs})
			require.NoError(t, err)
			require.Equal(t, plugin.CheckResponse{Properties: inputs}, answer)
		}
	}
	checked()
	require.Empty(t, *r.warnings)

	r = configured(t)
	r.box.Fail(fault.Fault{Name: "nas-wrong-key"})
	checked()
	require.Equal(t, []string{
		"this run can change nothing on TrueNAS: TrueNAS does not accept the API key of em-infra: compare the user's name, or make another key in Credentials > Users > API Keys",
	}, *r.warnings)
	require.Equal(t, 1, r.box.Occurred("nas-wrong-key"), "it is asked once")
}

// TestABoxThatIsGoneForGood checks that only a box that is named by a variable and does not answer counts as gone for good.
func TestABoxThatIsGoneForGood(t *testing.T) {
	for name, test := range map[string]struct {
		named    string // ENDPOINT is that of the box
		fails    string
		refused  string
		warnings []string
	}{
		"it":           {"ENDPOINT", "nas-off", "", []string{"tank/k8s is forgotten: EM_INFRA_NAS_GONE says that its box is gone for good"}},
		"with a slash": {"ENDPOINT/", "nas-off", "", []string{"tank/k8s is forgotten: EM_INFRA_NAS_GONE says that its box is gone for good"}},
		"another box": {
			"https://nas.example", "nas-off", "TrueNAS does not answer at ENDPOINT (unexpected EOF): check the address, and that the box is on; " +
				"or if that box is gone for good, set EM_INFRA_NAS_GONE=ENDPOINT, which forgets what this stack has there", nil,
		},
		"one that is not": {"ENDPOINT", "", "", nil},
		"one that refuses the login": {
			"ENDPOINT", "nas-key-expired", "the API key of em-infra has expired, or TrueNAS has revoked it: make another in Credentials > Users > API Keys", nil,
		},
		"one that is too old": {"ENDPOINT", "nas-only-rest", "TrueNAS at ENDPOINT has no JSON-RPC API: it is older than 25.04, update it", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := configured(t)
			r.box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/k8s", "user_properties": []any{map[string]any{"key": "em-infra:owner", "value": owner}}})
			if test.fails != "" {
				r.box.Fail(fault.Fault{Name: test.fails})
			}
			t.Setenv(truenas.GoneVariable, r.in(test.named))
			_, err := r.Delete(t.Context(), plugin.DeleteRequest{Type: token("Dataset"), ID: "tank/k8s", Inputs: properties(dataset())})
			if test.refused != "" {
				require.EqualError(t, err, r.in(test.refused))
			} else {
				require.NoError(t, err)
			}
			require.ElementsMatch(t, test.warnings, *r.warnings)
			r.box.Mend()
			var left []any
			r.box.Call(&left, "pool.dataset.query", []any{[]any{"id", "=", "tank/k8s"}})
			require.Equal(t, test.fails != "", len(left) == 1, "a box that answers is not forgotten")
		})
	}
}

// TestABoxThatComesBackIsNotForgotten: the box was off when the run began, and is on when it deletes.
func TestABoxThatComesBackIsNotForgotten(t *testing.T) {
	r := configured(t)
	inputs := properties(dataset())
	r.box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/k8s", "user_properties": []any{map[string]any{"key": "em-infra:owner", "value": owner}}})
	r.box.Fail(fault.Fault{Name: "nas-off"})
	r.refresh("Dataset", "tank/k8s", inputs, inputs)
	require.Len(t, *r.warnings, 1)
	t.Setenv(truenas.GoneVariable, r.box.Connection.Endpoint)
	r.box.Mend()
	_, err := r.Delete(t.Context(), plugin.DeleteRequest{Type: token("Dataset"), ID: "tank/k8s", Inputs: inputs})
	require.NoError(t, err)
	require.Len(t, *r.warnings, 1, "nothing is forgotten")
	var left []any
	r.box.Call(&left, "pool.dataset.query", []any{[]any{"id", "=", "tank/k8s"}})
	require.Empty(t, left)
}
