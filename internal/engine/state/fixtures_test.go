package state_test

import (
	"encoding/json"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/token"
)

type properties = map[string]any

func deployment(resources ...apitype.ResourceV3) apitype.DeploymentV3 {
	return apitype.DeploymentV3{Resources: resources}
}

func urn(kind tokens.Type, name string) resource.URN {
	return resource.NewURN("k3s-dev", "em-infra", "", kind, name)
}

func of(kind tokens.Type, name string, inputs, outputs properties) apitype.ResourceV3 {
	return apitype.ResourceV3{URN: urn(kind, name), Type: kind, Inputs: inputs, Outputs: outputs}
}

// below returns a resource with a parent.
func below(parent resource.URN, r apitype.ResourceV3) apitype.ResourceV3 {
	r.Parent = parent
	return r
}

// replaced returns a resource that the engine has replaced and has still to delete.
func replaced(r apitype.ResourceV3) apitype.ResourceV3 {
	r.Delete = true
	return r
}

// waiting returns a resource that the engine has deleted and that waits for its replacement.
func waiting(r apitype.ResourceV3) apitype.ResourceV3 {
	r.PendingReplacement = true
	return r
}

func machine(name string, vmid any) apitype.ResourceV3 {
	return of(token.VirtualMachine, name+"-vm", properties{"vmId": vmid, "name": name}, properties{"vmId": vmid})
}

// sealed returns a value that is marked as secret, in plain text.
func sealed(t *testing.T, value any) properties {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return properties{sig.Key: sig.Secret, "plaintext": string(text)}
}

// encrypted returns a secret that is not in plain text.
func encrypted() properties { return properties{sig.Key: sig.Secret, "ciphertext": "v1:abc"} }
