package operator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// accountOn returns a state with the account of a CSI driver on a box.
func accountOn(t *testing.T, connection truenas.Connection) apitype.DeploymentV3 {
	t.Helper()
	key, err := propertymap.Seal(connection.APIKey)
	require.NoError(t, err)
	const urn = "urn:pulumi:k3s-dev::em-infra::pulumi:providers:truenas::truenas"
	return apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{URN: urn, ID: "0f1e", Type: token.TrueNASProvider, Inputs: map[string]any{
			"endpoint": connection.Endpoint, "fingerprint": connection.Fingerprint, "username": connection.Username, "apiKey": key,
		}},
		{URN: resource.NewURN("k3s-dev", "em-infra", "", token.Account, "csi"), ID: "csi-k3s-dev", Type: token.Account, Provider: urn + "::0f1e"},
	}}
}

// TestADestroyNeedsTheNAS that the state names, regardless of the inventory. Only a box that does not answer may be gone for good.
func TestADestroyNeedsTheNAS(t *testing.T) {
	const (
		off    = "TrueNAS does not answer at ENDPOINT (unexpected EOF): check the address, and that the box is on"
		orGone = "; or if that box is gone for good, set EM_INFRA_NAS_GONE=ENDPOINT, which forgets what this stack has there"
		taken  = "; a destroy connects with what is in the state: `em-infra up --stack k3s-dev` takes a new key or fingerprint of the inventory over"
		newKey = "the API key of em-infra has expired, or TrueNAS has revoked it: make another in Credentials > Users > API Keys"
	)
	for name, test := range map[string]struct{ fails, gone, text string }{
		"on":                                   {},
		"off":                                  {"nas-off", "", off + orGone},
		"off, and another one is gone":         {"nas-off", "https://nas.example", off + orGone},
		"off, and gone":                        {"nas-off", "ENDPOINT", ""},
		"an expired key":                       {"nas-key-expired", "", newKey + taken},
		"an expired key of one that is gone":   {"nas-key-expired", "ENDPOINT", newKey + taken},
		"an old release of one that is gone":   {"nas-only-rest", "ENDPOINT", "TrueNAS at ENDPOINT has no JSON-RPC API: it is older than 25.04, update it" + taken},
		"one that is gone, as is said, but on": {"", "ENDPOINT", ""},
	} {
		t.Run(name, func(t *testing.T) {
			box := truenastest.Serve(t)
			at := func(text string) string { return strings.ReplaceAll(text, "ENDPOINT", box.Connection.Endpoint) }
			if test.fails != "" {
				box.Fail(fault.Fault{Name: test.fails})
			}
			t.Setenv(truenas.GoneVariable, at(test.gone))
			err := operator.CheckNAS(t.Context(), accountOn(t, box.Connection), "--stack k3s-dev")
			if test.text == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, at(test.text))
			require.ErrorAs(t, err, new(*refusal.Error))
			require.Equal(t, test.fails == "nas-off", errors.Is(err, truenas.ErrNoAnswer), "its cause is kept")
			require.NotContains(t, err.Error(), box.Connection.APIKey)
		})
	}
}

// TestADestroyThatDeletesNothingOnTheNAS needs no NAS.
func TestADestroyThatDeletesNothingOnTheNAS(t *testing.T) {
	t.Parallel()
	kept := accountOn(t, truenas.Connection{Endpoint: "https://127.0.0.1:1", Username: "em-infra", APIKey: "1-made-up"})
	kept.Resources[1].RetainOnDelete = true
	require.NoError(t, operator.CheckNAS(t.Context(), kept, "--stack k3s-dev"))
	kept.Resources[1].RetainOnDelete = false
	require.ErrorContains(t, operator.CheckNAS(t.Context(), kept, "--stack k3s-dev"), "TrueNAS does not answer at https://127.0.0.1:1")
	kept.Resources[0].Inputs["apiKey"] = map[string]any{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
	require.ErrorIs(t, operator.CheckNAS(t.Context(), kept, "--stack k3s-dev"), propertymap.ErrSealed)
}
