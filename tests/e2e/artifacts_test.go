package e2e_test

import (
	"encoding/json"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
)

// TestE2EChangesAreJudged: a change that would destroy the cluster is refused with its consequences; the artifacts of every run
// contain no secret.
func TestE2EChangesAreJudged(t *testing.T) {
	t.Parallel()
	r := standing(t, pair)
	secrets := r.secrets()
	require.Greater(t, len(secrets), 20)
	r.isReported(secrets)
	nodes, cluster := r.read(filepath.Join(r.inventory, "nodes.yaml")), r.read(filepath.Join(r.inventory, "cluster.yaml"))

	r.writeInventory("nodes.yaml", strings.Replace(nodes, "vmid: 101", "vmid: 131", 1))
	refusal := r.mustRun(3, "preview", "--lab")
	require.Contains(t, refusal, " REPLACE  k3s-dev-control-1  vmid 101 → 131; the VM is deleted and created again\n          this is the only control plane: a snapshot of etcd is taken, and etcd is restored from it on the new machine\n")
	require.Contains(t, refusal, "refused: say --allow-replace k3s-dev-control-1 to go on, or set vmid back to 101 for k3s-dev-control-1")
	r.mustRun(3, "up", "--lab", "--yes")
	r.writeInventory("nodes.yaml", nodes)

	seen := len(r.calls())
	r.writeInventory("cluster.yaml", strings.Replace(cluster, "contract: v1.12", "contract: v1.11", 1))
	require.Contains(t, r.mustRun(3, "up", "--lab", "--yes"), "contract v1.12 → v1.11 cannot change, since the cluster was born with it")
	r.writeInventory("cluster.yaml", strings.Replace(cluster, "control-plane: {cores: 4, memoryMiB: 8192, diskGiB: 64}", "control-plane: {cores: 4, memoryMiB: 8192, diskGiB: 32}", 1))
	require.Contains(t, r.mustRun(3, "up", "--lab", "--yes"), "refused: set diskGiB back to 64 for k3s-dev-control-1")
	require.Empty(t, writes(r.calls()[seen:]), "nothing was touched")

	r.writeInventory("cluster.yaml", strings.Replace(cluster, " worker: {cores: 4, memoryMiB: 8192", " worker: {cores: 4, memoryMiB: 9216", 1))
	var judged struct {
		Findings []struct{ Kind, Subject string }
	}
	output := r.mustRun(2, "preview", "--lab", "--output", "json")
	_, document, found := strings.Cut(output, "{")
	require.True(t, found, output)
	require.NoError(t, json.Unmarshal([]byte("{"+document), &judged))
	require.Equal(t, []struct{ Kind, Subject string }{{"REBOOT", "k3s-dev-worker-1"}}, judged.Findings)
	r.writeInventory("cluster.yaml", cluster)

	require.Contains(t, r.mustRun(0, "destroy", "--lab", "--yes"), " artifacts  .lab/"+r.stack+"/artifacts/")
	r.artifactsHoldNone(secrets) // of the birth, too
}

// isReported writes the report of the cluster, and of its birth alone.
func (r *rehearsal) isReported(secrets []string) {
	r.t.Helper()
	require.Contains(r.t, r.mustRun(0, "report", "--lab"), "written: .lab/"+r.stack+"/artifacts/report.html\n")
	runs, err := filepath.Glob(filepath.Join(r.dir(), "artifacts", "*-up"))
	require.NoError(r.t, err)
	require.NotEmpty(r.t, runs)
	birth := filepath.Join(r.dir(), "artifacts", "birth.html")
	r.mustRun(0, "report", "--lab", "--run", filepath.Base(runs[0]), "--out", birth)
	for _, file := range []string{filepath.Join(r.dir(), "artifacts", "report.html"), birth} {
		text := r.read(file)
		for _, node := range []string{"k3s-dev-control-1", "k3s-dev-worker-1"} {
			require.Contains(r.t, text, `class="name">`+node+" <small>", "a lane in %s", file)
			require.Contains(r.t, text, node+"</text>", "in the picture in %s", file)
		}
		require.Contains(r.t, text, `<td data-label="Waited for">k3s-dev-worker-1-vm</td>`)
		for _, secret := range secrets {
			require.False(r.t, len(secret) >= 8 && strings.Contains(html.UnescapeString(text), secret), "a secret of %d bytes in %s", len(secret), file)
		}
	}
	require.Contains(r.t, r.read(filepath.Join(r.dir(), "artifacts", "report.html")), `<p class="chip good">sound</p>`)
	require.Contains(r.t, r.mustRun(3, "report", "--lab", "--run", "2026-11-20T22-15-00-up"), `"2026-11-20T22-15-00-up": there are no artifacts of such a run: choose one of the folders in .lab/`+r.stack+"/artifacts")
}

// secrets returns all secrets of the state, and the credentials of the host and of the state itself.
func (r *rehearsal) secrets() []string {
	r.t.Helper()
	plain := r.plainEngine()
	exported, err := plain.Export(r.t.Context())
	require.NoError(r.t, err)
	var deployment apitype.DeploymentV3
	require.NoError(r.t, json.Unmarshal(exported.Deployment, &deployment))
	var secrets []string
	for _, resource := range deployment.Resources {
		secrets = append(secrets, secretsIn(r.t, resource.Inputs, false)...)
		secrets = append(secrets, secretsIn(r.t, resource.Outputs, false)...)
	}
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	return append(secrets, description.Token, r.read(filepath.Join(r.dir(), "passphrase")))
}

// secretsIn returns the texts below values that are marked as secret.
func secretsIn(t testing.TB, value any, secret bool) []string {
	t.Helper()
	var found []string
	switch v := value.(type) {
	case string:
		if secret {
			found = append(found, v)
		}
	case []any:
		for _, item := range v {
			found = append(found, secretsIn(t, item, secret)...)
		}
	case map[string]any:
		if v[sig.Key] == sig.Secret {
			var plain any
			require.NoError(t, json.Unmarshal([]byte(v["plaintext"].(string)), &plain))
			return secretsIn(t, plain, true)
		}
		for _, item := range v {
			found = append(found, secretsIn(t, item, secret)...)
		}
	}
	return found
}

// artifactsHoldNone searches the artifacts of all runs for secrets.
func (r *rehearsal) artifactsHoldNone(secrets []string) {
	r.t.Helper()
	kinds := map[string]int{}
	require.NoError(r.t, filepath.WalkDir(filepath.Join(r.dir(), "artifacts"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		kinds[entry.Name()]++
		text, err := os.ReadFile(path) //nolint:gosec // below the rehearsal's folder
		for _, secret := range secrets {
			written, marshalErr := json.Marshal(secret)
			require.NoError(r.t, marshalErr)
			for _, form := range []string{secret, strings.Trim(string(written), `"`)} {
				if len(secret) >= 8 && strings.Contains(string(text), form) {
					r.t.Errorf("%s holds a secret of %d bytes", path, len(secret))
				}
			}
		}
		return err
	}))
	for _, name := range []string{"events.jsonl", "summary.json", "cluster.yaml", "nodes.yaml", "k3s-dev-control-1.yaml"} {
		require.NotZero(r.t, kinds[name], name)
	}
}
