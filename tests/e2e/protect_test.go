package e2e_test

import (
	"encoding/json"
	"io"
	"regexp"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/stretchr/testify/require"
)

// TestE2EAProtectedClusterIsNotDestroyed: neither em-infra nor a plain engine makes one call that writes, and the state
// stays as it is, until the protection is taken back.
func TestE2EAProtectedClusterIsNotDestroyed(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, "e2e-protect")
	r.protect("false", "true")
	r.mustRun(0, "up", "--lab", "--yes")
	seen, state := len(r.calls()), r.sealedState()

	output := r.mustRun(3, "destroy", "--lab", "--yes")
	require.Contains(t, output, "e2e-protect is protected (command, k3s-dev, k3s-dev-bootstrap, ")
	require.Contains(t, output, "and nothing was touched: set protect: false in cluster.yaml and in nodes.yaml, run `em-infra up --stack e2e-protect --inventory ")
	plain := r.plainEngine()
	_, err := plain.Destroy(t.Context(), optdestroy.ProgressStreams(io.Discard))
	require.ErrorContains(t, err, "because it is protected. To unprotect the resource, either remove the `protect` flag")
	require.Empty(t, writes(r.calls()[seen:]))
	require.Equal(t, state, r.sealedState())

	r.protect("true", "false")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Empty(t, writes(r.calls()[seen:]), "to protect and to release are nothing to the host")
	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(t, r.hostFiles().VMs)
}

// sealedState is what the state says of all resources, but for its secrets, which are encrypted anew whenever it is written.
func (r *rehearsal) sealedState() string {
	r.t.Helper()
	text, err := json.MarshalIndent(r.state().Resources, "", " ")
	require.NoError(r.t, err)
	return regexp.MustCompile(`"ciphertext": "[^"]*"`).ReplaceAllString(string(text), "")
}

func (r *rehearsal) protect(old, now string) {
	r.t.Helper()
	r.edit("cluster.yaml", "protect: "+old, "protect: "+now)
}
