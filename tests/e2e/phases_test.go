package e2e_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/internal/phase"
)

// TestE2EPhases: a cluster that is created phase by phase, with one phase that fails and is run again alone, equals one that is created in one run; a
// phase of a complete cluster changes nothing of later ones; and only its own cluster is queried, regardless of what the user's kubeconfig contains.
func TestE2EPhases(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-phases")
	opener := sopstest.NewKey(t)
	r.writeInventory("opener.txt", opener.String()+"\n")
	r.writeInventory(secrets.File, sopstest.Encrypt(t, "truenas: {apiKey: made-up API key}\n", opener))
	r.env = append(r.env, secrets.KeyFileVariable+"="+filepath.Join(r.inventory, "opener.txt"))
	r.writeInventory("cluster.yaml", r.inventoryText("cluster.yaml")+"addons:\n  flux: {chart: {path: flux2}}\n  truenas: {host: nas.example, namespace: storage}\n")
	require.NoError(t, os.CopyFS(filepath.Join(r.inventory, "flux2"), os.DirFS(filepath.Join(r.root, "tests", "charts", "flux-like"))))
	foreign := newForeignCluster(t)
	r.operatorsCluster(foreign)

	r.mustRun(0, "lab", "start")
	require.Contains(t, r.mustRun(3, "up", "--lab", "--yes", "--only", "bootstrap"),
		fmt.Sprintf("phase bootstrap needs provision, which was not run yet: run `em-infra up --stack %s --inventory %s --lab --until provision` first", r.stack, r.inventory))
	require.Empty(t, writes(r.calls()))

	r.phaseByPhase()
	inPhases := r.made()
	r.phasesOfAClusterThatStands()

	r.env = append(r.env, "KUBECONFIG=") // from here on, the one in the operator's home
	require.Contains(t, r.mustRun(0, "destroy", "--lab", "--yes"), "k3s-dev-template-vmhost-iso forgotten; it stays on the host")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, r.made(), inPhases)
	require.Zero(t, foreign.asked.Load(), "the cluster of the operator's kubeconfig was contacted")
}

// phaseByPhase brings the cluster up. The bootstrap fails at first, and is then run alone.
func (r *rehearsal) phaseByPhase() {
	r.t.Helper()
	r.mustRun(0, "up", "--lab", "--yes", "--until", "generate")
	require.Equal(r.t, phase.Generate, r.reached())
	require.Empty(r.t, writes(r.calls()), "secrets and schematics are no matter of the host's")
	r.leavesConfigurations("k3s-dev-control-1", "k3s-dev-worker-1")

	r.mustRun(0, "lab", "fault", "set", "no-worker", "--endpoint", "/nodes/{node}/qemu/{vmid}/status/start", "--vm", "k3s-dev-worker-1")
	require.Contains(r.t, r.mustRun(1, "up", "--lab", "--yes", "--until", "provision"), "failed in provision: k3s-dev-worker-1-vm")
	r.mustRun(0, "lab", "fault", "clear")
	require.Contains(r.t, r.mustRun(3, "up", "--lab", "--yes", "--only", "bootstrap"), "phase bootstrap needs provision, of which k3s-dev-worker-1-vm is missing: run ")
	r.mustRun(0, "up", "--lab", "--yes", "--only", "provision")
	require.Equal(r.t, phase.Provision, r.reached())

	seen := len(r.calls())
	r.mustRun(0, "up", "--lab", "--yes", "--until", "bootstrap")
	require.Equal(r.t, phase.Bootstrap, r.reached())
	r.mustRun(0, "up", "--lab", "--yes", "--until", "addons")
	require.Equal(r.t, phase.Addons, r.reached())
	r.mustRun(0, "up", "--lab", "--yes", "--only", "verify")
	require.Contains(r.t, r.mustRun(0, "up", "--lab", "--yes"), "k3s-dev is up")
	require.Empty(r.t, writes(r.calls()[seen:]), "the machines stand")
	r.mustRun(0, "preview", "--lab")
}

// leavesConfigurations checks that the last run has written the configurations of the nodes, without their secrets.
func (r *rehearsal) leavesConfigurations(nodes ...string) {
	r.t.Helper()
	runs, err := filepath.Glob(filepath.Join(r.dir(), "artifacts", "*-up-until-generate"))
	require.NoError(r.t, err)
	require.NotEmpty(r.t, runs)
	for _, node := range nodes {
		text, err := os.ReadFile(filepath.Join(runs[len(runs)-1], "machine-configurations", node+".yaml"))
		require.NoError(r.t, err)
		require.Contains(r.t, string(text), "hostname: "+node)
		require.Contains(r.t, string(text), "token: '[secret]'")
	}
}

// phasesOfAClusterThatStands runs phases again, which change nothing.
func (r *rehearsal) phasesOfAClusterThatStands() {
	r.t.Helper()
	seen, before := len(r.calls()), r.digests()
	for _, flags := range [][]string{{"--until", "provision"}, {"--only", "provision"}, {"--only", "bootstrap"}, {"--only", "addons"}} {
		r.mustRun(0, append([]string{"up", "--lab", "--yes"}, flags...)...)
		require.Equal(r.t, before, r.digests(), "%s", flags)
	}
	require.Empty(r.t, writes(r.calls()[seen:]))
}

// reached returns the phase of the furthest resource in the state.
func (r *rehearsal) reached() phase.Phase {
	r.t.Helper()
	var furthest phase.Phase
	for _, one := range r.state().Resources {
		furthest = max(furthest, phase.Of(one.URN))
	}
	return furthest
}

// dropEmptyDefaults removes the empty list of defaults from inputs (pulumi-terraform-bridge, __defaults).
func dropEmptyDefaults(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			dropEmptyDefaults(item)
		}
	case map[string]any:
		if names, noted := value["__defaults"].([]any); noted && len(names) == 0 {
			delete(value, "__defaults")
		}
		for _, item := range value {
			dropEmptyDefaults(item)
		}
	}
}

// digests returns a digest of everything that the state says about each resource, with its secrets in clear and its outputs. It leaves out the times
// of changes, the order of dependencies, and empty lists of dependencies and of defaults, which a refresh may write or not. The engine seals secrets
// anew with each run, so they are compared in clear; a digest does not show them in a test's output.
func (r *rehearsal) digests() map[resource.URN]string {
	r.t.Helper()
	engine := r.plainEngine()
	exported, err := engine.Export(r.t.Context())
	require.NoError(r.t, err)
	var deployment apitype.DeploymentV3
	require.NoError(r.t, json.Unmarshal(exported.Deployment, &deployment))
	digests := map[resource.URN]string{}
	for _, one := range deployment.Resources {
		one.Created, one.Modified = nil, nil
		slices.Sort(one.Dependencies)
		for property, dependencies := range one.PropertyDependencies {
			slices.Sort(dependencies)
			if len(dependencies) == 0 {
				delete(one.PropertyDependencies, property)
			}
		}
		dropEmptyDefaults(one.Inputs)
		text, err := json.Marshal(one)
		require.NoError(r.t, err)
		digests[one.URN] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	require.NotEmpty(r.t, digests)
	return digests
}

// clusterID matches the cluster in a machine's description, which differs with each birth.
var clusterID = regexp.MustCompile(`cluster [0-9a-f]{12}`)

// made returns the URNs of the state with their inputs, without those that are secret: keys are new each time. The mark of a
// machine's birth is new as well (docs/decisions/0017-a-mark-of-birth.md), and whether a CD-ROM drive is enabled is the
// provider's own view, which a refresh writes.
func (r *rehearsal) made() map[resource.URN]string {
	r.t.Helper()
	made := map[resource.URN]string{}
	for _, one := range r.state().Resources {
		inputs := resource.NewObjectProperty(resource.NewPropertyMapFromMap(one.Inputs))
		for _, ignored := range []string{"smbios.uuid", "cdrom.enabled"} {
			path, err := resource.ParsePropertyPath(ignored)
			require.NoError(r.t, err)
			path.Delete(inputs)
		}
		text, err := json.MarshalIndent(asked(inputs.ObjectValue().Mappable()), "", "  ")
		require.NoError(r.t, err)
		made[one.URN] = clusterID.ReplaceAllString(string(text), "cluster of this birth")
	}
	require.NotEmpty(r.t, made)
	return made
}

// asked returns what the program asks for in a value of the state: with a mark in the place of each secret, and without what
// the provider notes of its own defaults, which differs between a first and a second run (pulumi-terraform-bridge v3.116.0,
// pkg/reservedkeys/keys.go).
func asked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if value[sig.Key] == sig.Secret {
			return "secret"
		}
		members := map[string]any{}
		for name, member := range value {
			if name != "__defaults" {
				members[name] = asked(member)
			}
		}
		return members
	case []any:
		members := make([]any, len(value))
		for i, member := range value {
			members[i] = asked(member)
		}
		return members
	default:
		return value
	}
}

// foreignCluster is a listener in the place of a foreign Kubernetes API.
type foreignCluster struct {
	url   string
	asked atomic.Int64
}

func newForeignCluster(t testing.TB) *foreignCluster {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	foreign := &foreignCluster{url: "https://" + listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			foreign.asked.Add(1)
			connection.Close()
		}
	}()
	return foreign
}

// operatorsCluster makes a cluster the default of kubectl: by KUBECONFIG, and without that by the user's home. The caches of Go
// do not change.
func (r *rehearsal) operatorsCluster(foreign *foreignCluster) {
	r.t.Helper()
	home, kubeconfig := r.t.TempDir(), fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: foreign, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: me, user: {token: made-up}}]
contexts: [{name: foreign, context: {cluster: foreign, user: me}}]
current-context: foreign
`, foreign.url)
	for _, file := range []string{".kube/config", "kubeconfig"} {
		require.NoError(r.t, os.MkdirAll(filepath.Dir(filepath.Join(home, file)), 0o700))
		require.NoError(r.t, os.WriteFile(filepath.Join(home, file), []byte(kubeconfig), 0o600))
	}
	caches, err := os.UserCacheDir()
	require.NoError(r.t, err)
	r.env = append(r.env, "HOME="+home, "KUBECONFIG="+filepath.Join(home, "kubeconfig"), "XDG_CACHE_HOME="+caches)
	for _, name := range []string{"GOPATH", "GOMODCACHE", "GOCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		require.NoError(r.t, err)
		r.env = append(r.env, name+"="+strings.TrimSpace(string(value)))
	}
}
