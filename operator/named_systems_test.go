package operator_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// siteWithDNS is a project with the samples k3s-dev and site-systems, in which the nameservers of k3s-dev are those given. The endpoint is that of
// site-systems.
func siteWithDNS(t *testing.T, servers, endpoint string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, stack := range []string{"k3s-dev", "site-systems"} {
		require.NoError(t, os.CopyFS(filepath.Join(root, "stacks", stack), os.DirFS(filepath.Join("..", "stacks", stack))))
	}
	cluster := filepath.Join(root, "stacks", "k3s-dev", "cluster.yaml")
	text, err := os.ReadFile(cluster)
	require.NoError(t, err)
	require.Contains(t, string(text), "nameservers: [192.168.20.1]")
	for path, content := range map[string]string{
		"Pulumi.yaml": "name: em-infra\nruntime: go\n", "Pulumi.k3s-dev.yaml": "config: {em-infra:proxmoxEndpoint: \"https://vmhost:8006\"}\n",
		"Pulumi.site-systems.yaml":    "config: {em-infra:proxmoxEndpoint: \"" + endpoint + "\"}\n",
		"stacks/k3s-dev/cluster.yaml": strings.Replace(string(text), "nameservers: [192.168.20.1]", "nameservers: ["+servers+"]", 1),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(content), 0o600))
	}
	return root
}

// sessionOn returns a session on a stack of a project; of systems if it is site-systems.
func sessionOn(t *testing.T, work *workspace.Workspace) *operator.Session {
	t.Helper()
	o := operator.In(operator.Options{Stack: work.Stack}, work, nil, time.Now)
	if work.Stack == "site-systems" {
		inv, err := systems.Load(work.Inventory)
		require.NoError(t, err)
		return o.Session("", nil).OfSystems(inv)
	}
	inv, err := inventory.Load(work.Inventory)
	require.NoError(t, err)
	return o.Session("", inv)
}

// TestNamedServers: what preflight looks for, and where.
func TestNamedServers(t *testing.T) {
	t.Parallel()
	const same, other = "https://vmhost:8006/api2/json", "https://far:8006"
	pihole := func(place string, where preflight.Where) preflight.Server {
		return preflight.Server{Name: "pihole", Type: pve.TypeContainer, VMID: 211, Stack: "site-systems", Place: place, Where: where}
	}
	tools := preflight.Server{Name: "tools", Type: pve.TypeVM, VMID: 210, Stack: "site-systems", Place: "--stack site-systems", Where: preflight.Here}
	for name, test := range map[string]struct {
		servers, endpoint string
		labs              string // the names of the labs of k3s-dev and site-systems; empty for real machines
		want              []preflight.Server
	}{
		"none":                         {"192.168.20.1", same, "", nil},
		"a container and a machine":    {"site-systems/pihole, site-systems/tools", same, "", []preflight.Server{pihole("--stack site-systems", preflight.Here), tools}},
		"another Proxmox VE":           {"site-systems/pihole", other, "", []preflight.Server{pihole("--stack site-systems", preflight.Elsewhere)}},
		"no endpoint":                  {"site-systems/pihole", "", "", []preflight.Server{pihole("--stack site-systems", preflight.Here)}},
		"a rehearsal of one stack":     {"site-systems/pihole", same, "own own", []preflight.Server{pihole("--stack site-systems --lab", preflight.Unrehearsed)}},
		"a rehearsal of both":          {"site-systems/pihole", same, "_one _one", []preflight.Server{pihole("--stack site-systems --lab", preflight.Here)}},
		"a rehearsal on another's":     {"site-systems/pihole", same, "_one _two", []preflight.Server{pihole("--stack site-systems --lab", preflight.Elsewhere)}},
		"a rehearsal beside one's own": {"site-systems/pihole", same, "_one own", []preflight.Server{pihole("--stack site-systems --lab", preflight.Elsewhere)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := siteWithDNS(t, test.servers, test.endpoint)
			work, err := workspace.Real(root, "k3s-dev", "")
			if test.labs != "" {
				work = rehearsed(t, root, test.labs)
			}
			require.NoError(t, err)
			found, err := sessionOn(t, work).NamedServers()
			require.NoError(t, err)
			require.Equal(t, test.want, found)
		})
	}
}

// rehearsed returns the rehearsal of k3s-dev, after both stacks have joined labs.
func rehearsed(t *testing.T, root, labs string) (work *workspace.Workspace) {
	t.Helper()
	for at, lab := range strings.Fields(labs) {
		w, err := workspace.Rehearsal(root, []string{"k3s-dev", "site-systems"}[at], "")
		require.NoError(t, err)
		if lab != "own" {
			require.NoError(t, w.ShareLab(lab))
		}
		if at == 0 {
			work = w
		}
	}
	return work
}

// TestSystemsThatAreNeeded are not destroyed while nodes are there that have them as nameservers.
func TestSystemsThatAreNeeded(t *testing.T) {
	t.Parallel()
	const (
		node    = `{"vmid":101,"name":"k3s-dev-control-1","type":"qemu","node":"vmhost","status":"running"}`
		another = `{"vmid":102,"name":"mine","type":"qemu","node":"vmhost","status":"running"},{"vmid":103,"name":"k3s-dev-gpu-1","type":"lxc","node":"vmhost","status":"running"}`
		refusal = "the nodes of k3s-dev (k3s-dev-control-1) use pihole, tools of this stack as nameserver: take that cluster down first with `em-infra destroy --stack k3s-dev`, " +
			"or write another server into network.nameservers of its cluster.yaml and run `em-infra up --stack k3s-dev`"
	)
	for name, test := range map[string]struct{ servers, endpoint, guests, want string }{
		"its nodes are there":  {"site-systems/pihole, site-systems/tools", "https://vmhost:8006", node + "," + another, refusal},
		"others are there":     {"site-systems/pihole", "https://vmhost:8006", another, ""},
		"it names an address":  {"192.168.20.5", "https://vmhost:8006", node, ""},
		"it is in another PVE": {"site-systems/pihole", "https://far:8006", node, ""},
		"it is not valid": {
			"nowhere at all", "https://vmhost:8006", node,
			"the files of stack k3s-dev are not valid, so em-infra cannot tell whether it needs these systems: correct what `em-infra validate --stack k3s-dev` reports, then run it again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.Equal(t, "/api2/json/cluster/resources", r.URL.Path)
				_, _ = io.WriteString(w, `{"data":[`+test.guests+`]}`)
			}))
			defer server.Close()
			work, err := workspace.Real(siteWithDNS(t, test.servers, test.endpoint), "site-systems", "")
			require.NoError(t, err)
			host := pve.Connection{Endpoint: server.URL, Token: "a@pve!b=c", Insecure: true}
			err = sessionOn(t, work).On(engine.State{}, host, remedy.Place{}).CheckNotNeeded(t.Context())
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
			require.ErrorAs(t, err, new(*operator.RefusedError))
		})
	}
}

// TestSystemsThatAreNamedStay in the inventory: without them, that of a cluster is not valid any more.
func TestSystemsThatAreNamedStay(t *testing.T) {
	t.Parallel()
	root := siteWithDNS(t, "192.168.20.7, site-systems/pihole", "https://vmhost:8006")
	o, err := operator.Open(operator.Options{Project: root, Stack: "site-systems"})
	require.NoError(t, err)
	_, err = o.Validate()
	require.NoError(t, err)
	file := filepath.Join(root, "stacks", "site-systems", "systems.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "name: pihole", "name: pihole-2")), 0o600))
	_, err = o.Validate()
	require.EqualError(t, err, filepath.Join(root, "stacks", "k3s-dev", "cluster.yaml")+":21: network.nameservers[1]: names a system that stack site-systems does not have "+
		"(got site-systems/pihole): did you mean site-systems/pihole-2?\n1 problem in 1 file; nothing was touched")

	other := strings.ReplaceAll(string(text), "192.168.20.5/24", "192.168.20.7/24")
	require.NotEqual(t, string(text), other)
	require.NoError(t, os.WriteFile(file, []byte(other), 0o600))
	_, err = o.Validate()
	require.ErrorContains(t, err, "network.nameservers[1]: is given twice (got 192.168.20.7): remove one of them", "also what only their addresses together make wrong")
}
