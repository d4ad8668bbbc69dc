package preflight_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

const storageYAML = `storage:
  endpoint: https://nas.example
  pool: tank
  datasets: [{name: k8s, quotaGiB: 50}, {name: k8s/nfs, quotaGiB: 40, nfs: {}}, {name: models, refquotaGiB: 20}, {name: logs}]
addons: {truenas: {host: nas.example}}
`

// soundNAS returns a snapshot with a box that can take the storage, beside hosts that can run the inventory.
func soundNAS(t *testing.T) (*inventory.Inventory, preflight.Snapshot) {
	t.Helper()
	_, found := sound(t)
	found.NAS = &preflight.NAS{
		Endpoint: "https://nas.example", User: "em-infra", Owner: "home/home",
		Version: preflight.Reading[string]{Value: "25.10.6"},
		Roles: preflight.Reading[[]string]{Value: []string{
			"POOL_READ", "DATASET_READ", "DATASET_WRITE", "SHARING_NFS_WRITE", "SERVICE_READ", "SERVICE_WRITE", "ACCOUNT_WRITE", "PRIVILEGE_WRITE", "API_KEY_WRITE",
		}},
		Pools: preflight.Reading[[]truenas.Pool]{Value: []truenas.Pool{
			{Name: "boot", Status: "ONLINE", Healthy: true}, {Name: "tank", Status: "ONLINE", Healthy: true},
		}},
		Datasets: preflight.Reading[[]truenas.FoundDataset]{Value: []truenas.FoundDataset{
			{Name: "tank", Available: 60 * gib}, {Name: "tank/k8s", Owner: "home/home", Used: 10 * gib}, {Name: "tank/logs"},
		}},
		Known: []string{"tank/logs"},
	}
	return inventoryOf(t, clusterYAML+storageYAML, nodesYAML), found
}

// checksOfNAS returns the checks of the box.
func checksOfNAS(report preflight.Report) preflight.Report {
	return slices.DeleteFunc(report, func(c preflight.Check) bool { return !strings.HasPrefix(c.Name, "nas") })
}

func TestABoxThatCanTakeTheStorage(t *testing.T) {
	t.Parallel()
	inv, found := soundNAS(t)
	require.Equal(t, preflight.Report{
		{Name: "nas", Result: preflight.OK, Sentence: "TrueNAS 25.10.6 answers at https://nas.example, and accepts the key of em-infra"},
		{Name: "nas-roles", Result: preflight.OK, Sentence: "user em-infra of TrueNAS has the roles that the storage needs"},
		{Name: "nas-pool", Result: preflight.OK, Sentence: "pool tank of TrueNAS is healthy and has 60 GiB free"},
		{Name: "nas-dataset", Result: preflight.OK, Sentence: "4 datasets: 2 to create, 2 ours"},
	}, checksOfNAS(preflight.Evaluate(inv, found)))
}

// TestTheBoxIsJudgedWithoutAHost, so that the user can repair both at once.
func TestTheBoxIsJudgedWithoutAHost(t *testing.T) {
	t.Parallel()
	inv, found := soundNAS(t)
	found.Version.Err = remedy.Errorf("switch it on", "Proxmox VE does not answer")
	found.NAS.Version.Err = remedy.Errorf("switch it on", "TrueNAS does not answer")
	require.Equal(t, preflight.Report{
		{Name: "version", Result: preflight.Fail, Sentence: "Proxmox VE does not answer", Remedy: "switch it on"},
		{Name: "nas", Result: preflight.Fail, Sentence: "TrueNAS does not answer", Remedy: "switch it on"},
	}, preflight.Evaluate(inv, found))
}

func TestFindingsAboutABox(t *testing.T) {
	t.Parallel()
	dataset := func(alter func(*truenas.FoundDataset), at int) func(*preflight.NAS) {
		return func(n *preflight.NAS) { alter(&n.Datasets.Value[at]) }
	}
	for name, test := range map[string]struct {
		alter func(*preflight.NAS)
		want  preflight.Report
	}{
		"no key and no CA": {
			func(n *preflight.NAS) {
				n.Err = &inventory.Problems{
					{File: "cluster.yaml", Finding: strictyaml.Finding{Path: "storage", Line: 8, Fault: strictyaml.Fault{What: "lacks truenas.apiKey", Rule: "it is nowhere", Do: "add it"}}},
					{File: "cluster.yaml", Finding: strictyaml.Finding{Path: "storage.caFile", Line: 9, Fault: strictyaml.Fault{What: "is no file", Do: "correct the path"}}},
				}
			},
			preflight.Report{
				{Name: "nas", Result: preflight.Fail, Sentence: "cluster.yaml:8: storage: lacks truenas.apiKey (it is nowhere)", Remedy: "add it"},
				{Name: "nas", Result: preflight.Fail, Sentence: "cluster.yaml:9: storage.caFile: is no file", Remedy: "correct the path"},
			},
		},
		"too old": {
			func(n *preflight.NAS) { n.Version.Value = "SCALE-24.10.2.4" },
			preflight.Report{{Name: "nas", Result: preflight.Fail, Sentence: "TrueNAS SCALE-24.10.2.4 at https://nas.example is too old", Remedy: "update it to 25.04 or later"}},
		},
		"the first one": {func(n *preflight.NAS) { n.Version.Value = "25.04.0" }, nil},
		"a beta of 26":  {func(n *preflight.NAS) { n.Version.Value = "26.0.0-BETA.3" }, nil},
		"newer": {
			func(n *preflight.NAS) { n.Version.Value = "27.0.0-MASTER" },
			preflight.Report{{
				Name: "nas", Result: preflight.Warn, Sentence: "TrueNAS 27.0.0-MASTER at https://nas.example is newer than this program knows",
				Remedy: "try it on another box first, and look for a newer em-infra",
			}},
		},
		"something else": {
			func(n *preflight.NAS) { n.Version.Value = "13.3-U1" },
			preflight.Report{{Name: "nas", Result: preflight.Fail, Sentence: "TrueNAS 13.3-U1 at https://nas.example is too old", Remedy: "update it to 25.04 or later"}},
		},
		"no version": {
			func(n *preflight.NAS) { n.Version.Value = "MASTER" },
			preflight.Report{{Name: "nas", Result: preflight.Warn, Sentence: `https://nas.example says that it is TrueNAS "MASTER"`, Remedy: "see that storage.endpoint is that of TrueNAS"}},
		},
		"roles": {
			func(n *preflight.NAS) { n.Roles.Value = []string{"POOL_READ", "DATASET_WRITE", "SERVICE_READ"} },
			preflight.Report{{
				Name: "nas-roles", Result: preflight.Fail,
				Sentence: "user em-infra of TrueNAS lacks the roles SHARING_NFS_WRITE, SERVICE_WRITE, ACCOUNT_WRITE, PRIVILEGE_WRITE, API_KEY_WRITE",
				Remedy:   "add them in Credentials > Groups > Privileges of TrueNAS, to the privilege of its group",
			}},
		},
		"an administrator": {func(n *preflight.NAS) { n.Roles.Value = []string{"FULL_ADMIN"} }, nil},
		"unread roles": {
			func(n *preflight.NAS) { n.Roles.Err = remedy.Errorf("see docs/storage.md", "it does not say") },
			preflight.Report{{Name: "nas-roles", Result: preflight.Fail, Sentence: "it does not say", Remedy: "see docs/storage.md"}},
		},
		"unread pools": {
			func(n *preflight.NAS) {
				n.Pools.Err = remedy.Errorf("the user lacks a role", "TrueNAS, pool.query: Not authorized")
			},
			preflight.Report{{Name: "nas-pool", Result: preflight.Fail, Sentence: "TrueNAS, pool.query: Not authorized", Remedy: "the user lacks a role"}},
		},
		"another pool": {
			func(n *preflight.NAS) { n.Pools.Value = n.Pools.Value[:1] },
			preflight.Report{{Name: "nas-pool", Result: preflight.Fail, Sentence: "TrueNAS has no pool tank, it has boot", Remedy: "correct storage.pool, or create it in Storage > Create Pool of TrueNAS"}},
		},
		"no pool": {
			func(n *preflight.NAS) { n.Pools.Value = nil },
			preflight.Report{{Name: "nas-pool", Result: preflight.Fail, Sentence: "TrueNAS has no pool tank, it has none", Remedy: "correct storage.pool, or create it in Storage > Create Pool of TrueNAS"}},
		},
		"a disk that has failed": {
			func(n *preflight.NAS) { n.Pools.Value[1].Status, n.Pools.Value[1].Healthy = "DEGRADED", false },
			preflight.Report{{Name: "nas-pool", Result: preflight.Warn, Sentence: "pool tank of TrueNAS is degraded", Remedy: "replace the disk that has failed: see Storage in TrueNAS"}},
		},
		"a pool that is away": {
			func(n *preflight.NAS) { n.Pools.Value[1].Status = "UNAVAIL" },
			preflight.Report{{Name: "nas-pool", Result: preflight.Fail, Sentence: "pool tank of TrueNAS is unavail", Remedy: "see Storage in TrueNAS, and bring its disks back"}},
		},
		"errors": {
			func(n *preflight.NAS) { n.Pools.Value[1].Healthy = false },
			preflight.Report{{Name: "nas-pool", Result: preflight.Warn, Sentence: "pool tank of TrueNAS has errors", Remedy: "see Storage in TrueNAS"}},
		},
		"just enough room": { // 50 GiB without 10 that are used, and 20; what is in k8s is in its quota
			dataset(func(d *truenas.FoundDataset) { d.Available = 60 * gib }, 0), nil,
		},
		"too little room": {
			dataset(func(d *truenas.FoundDataset) { d.Available = 60*gib - 1 }, 0),
			preflight.Report{{
				Name: "nas-pool", Result: preflight.Warn, Sentence: "pool tank of TrueNAS has 59 GiB free, the quotas promise 60 GiB more than is used",
				Remedy: "add disks to the pool, or lower the quotas; they reserve nothing",
			}},
		},
		"an answer without a remedy": {
			func(n *preflight.NAS) {
				n.Pools.Err = &truenas.Error{Method: "pool.query", Number: truenas.EFAULT, Reason: "[EFAULT] zpool: cannot open"}
			},
			preflight.Report{{Name: "nas-pool", Result: preflight.Fail, Sentence: "TrueNAS, pool.query: [EFAULT] zpool: cannot open", Remedy: "see /var/log/middlewared.log on the box, then run it again"}},
		},
		"unread datasets": {
			func(n *preflight.NAS) {
				n.Datasets = preflight.Reading[[]truenas.FoundDataset]{Err: remedy.Errorf("run it again", "cut")}
			},
			preflight.Report{{Name: "nas-dataset", Result: preflight.Fail, Sentence: "cut", Remedy: "run it again"}},
		},
		"a volume": {
			dataset(func(d *truenas.FoundDataset) { d.IsVolume = true }, 1),
			preflight.Report{{Name: "nas-dataset", Result: preflight.Fail, Sentence: "tank/k8s on TrueNAS is a volume, no filesystem", Remedy: "give the dataset another name in cluster.yaml"}},
		},
		"locked": {
			dataset(func(d *truenas.FoundDataset) { d.IsLocked = true }, 1),
			preflight.Report{{Name: "nas-dataset", Result: preflight.Fail, Sentence: "dataset tank/k8s on TrueNAS is locked", Remedy: "unlock it in Datasets of TrueNAS"}},
		},
		"one of another stack": {
			dataset(func(d *truenas.FoundDataset) { d.Owner = "office/office" }, 1),
			preflight.Report{{
				Name: "nas-dataset", Result: preflight.Warn, Sentence: "dataset tank/k8s on TrueNAS belongs to office/office: up would change it to what cluster.yaml says",
				Remedy: "if that stack still has it, give the dataset another name in cluster.yaml",
			}},
		},
		"one that was there": {
			func(n *preflight.NAS) { n.Known = nil },
			preflight.Report{{
				Name: "nas-dataset", Result: preflight.Warn, Sentence: "dataset tank/logs is on TrueNAS already: up changes it to what cluster.yaml says, and never deletes it",
				Remedy: "nothing if it is to be adopted; otherwise give the dataset another name in cluster.yaml",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, found := soundNAS(t)
			test.alter(found.NAS)
			require.Equal(t, test.want, emptyIsNil(checksOfNAS(preflight.Evaluate(inv, found).Unsound())))
		})
	}
}

// TestARunThatSparesTheBoxIsNotRefused: every failure there is only a warning.
func TestARunThatSparesTheBoxIsNotRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		alter func(*preflight.NAS)
		want  preflight.Report
	}{
		"away": {
			func(n *preflight.NAS) { n.Version.Err = remedy.Errorf("switch it on", "TrueNAS does not answer") },
			preflight.Report{{Name: "nas", Result: preflight.Warn, Sentence: "TrueNAS does not answer", Remedy: "switch it on"}},
		},
		"without a key": {
			func(n *preflight.NAS) { n.Err = remedy.Errorf("add it", "the key is missing") },
			preflight.Report{{Name: "nas", Result: preflight.Warn, Sentence: "the key is missing", Remedy: "add it"}},
		},
		"a pool that is away": {
			func(n *preflight.NAS) { n.Pools.Value[1].Status = "UNAVAIL" },
			preflight.Report{{Name: "nas-pool", Result: preflight.Warn, Sentence: "pool tank of TrueNAS is unavail", Remedy: "see Storage in TrueNAS, and bring its disks back"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, found := soundNAS(t)
			test.alter(found.NAS)
			found.NAS.IsSpared = true
			require.Equal(t, test.want, checksOfNAS(preflight.Evaluate(inv, found).Unsound()))
		})
	}
	inv, found := soundNAS(t)
	found.NAS.IsSpared, found.Version.Err = true, remedy.Errorf("switch it on", "Proxmox VE does not answer")
	require.Equal(t, 1, preflight.Evaluate(inv, found).Count(preflight.Fail), "the host is needed all the same")
}

// TestRolesForWhatIsRemoved: what the state has on the box is deleted with the roles that the inventory needs no more.
func TestRolesForWhatIsRemoved(t *testing.T) {
	t.Parallel()
	for kind, want := range map[tokens.Type]string{
		token.Account: "ACCOUNT_WRITE, PRIVILEGE_WRITE, API_KEY_WRITE", token.NFSShare: "SHARING_NFS_WRITE", token.Service: "SERVICE_READ, SERVICE_WRITE",
		token.ISCSIPortal: "SHARING_ISCSI_WRITE", token.ISCSIInitiatorGroup: "SHARING_ISCSI_WRITE",
	} {
		_, found := soundNAS(t)
		found.NAS.Roles.Value, found.NAS.Kinds = []string{"POOL_READ", "DATASET_WRITE"}, []tokens.Type{kind}
		inv := inventoryOf(t, clusterYAML+"storage: {endpoint: https://nas.example, pool: tank, datasets: [{name: k8s}]}", nodesYAML)
		require.Equal(t, "user em-infra of TrueNAS lacks the roles "+want, checksOfNAS(preflight.Evaluate(inv, found).Unsound())[0].Sentence)
	}
}

// TestWithoutAPoolNothingIsSaidOfDatasets, and a root dataset that is missing is a finding of its own.
func TestWithoutAPoolNothingIsSaidOfDatasets(t *testing.T) {
	t.Parallel()
	inv, found := soundNAS(t)
	found.NAS.Pools.Value = found.NAS.Pools.Value[:1]
	found.NAS.Datasets.Value = nil
	report := checksOfNAS(preflight.Evaluate(inv, found))
	require.Equal(t, "nas-pool", report[len(report)-1].Name)

	_, found = soundNAS(t)
	found.NAS.Datasets.Value = found.NAS.Datasets.Value[1:]
	require.Equal(t, preflight.Report{{
		Name: "nas-dataset", Result: preflight.Fail, Sentence: "TrueNAS does not list tank, the root dataset of the pool", Remedy: "see Datasets in TrueNAS, then run it again",
	}}, checksOfNAS(preflight.Evaluate(inv, found).Unsound()))
}

// TestTheRolesAreThoseOfTheInventory: what the inventory does not use needs no role.
func TestTheRolesAreThoseOfTheInventory(t *testing.T) {
	t.Parallel()
	for storage, want := range map[string]string{
		"datasets: [{name: k8s}]":                          "POOL_READ, DATASET_WRITE",
		"protect: false, datasets: [{name: k8s, nfs: {}}]": "POOL_READ, DATASET_WRITE, DATASET_DELETE, SHARING_NFS_WRITE, SERVICE_READ, SERVICE_WRITE",
		"datasets: [{name: k8s}], iscsi: {}":               "POOL_READ, DATASET_WRITE, SHARING_ISCSI_WRITE, SERVICE_READ, SERVICE_WRITE",
	} {
		_, found := soundNAS(t)
		found.NAS.Roles.Value = []string{"ALERT_LIST_READ"}
		cluster := strings.Replace(clusterYAML, "extensions: [", "extensions: [siderolabs/iscsi-tools, ", 1)
		inv := inventoryOf(t, cluster+"storage: {endpoint: https://nas.example, pool: tank, "+storage+"}", nodesYAML)
		require.Equal(t, "user em-infra of TrueNAS lacks the roles "+want, checksOfNAS(preflight.Evaluate(inv, found).Unsound())[0].Sentence)
	}
}

// boxed returns an emulated host and an emulated box for an inventory that they can bear.
func boxed(t *testing.T) (preflight.Subject, *truenastest.Box) {
	t.Helper()
	subject, _ := emulate(t, emulatedConfig(schema.Release91))
	box := truenastest.Serve(t)
	subject.Inventory = inventoryOf(t, clusterYAML+storageYAML, nodesYAML)
	subject.Box, subject.Owner.Stack = &preflight.Box{Connection: box.Connection, Owner: "home/home"}, "home"
	return subject, box
}

// TestAnEmulatedBox is asked, and left as it is.
func TestAnEmulatedBox(t *testing.T) {
	t.Parallel()
	subject, box := boxed(t)
	box.Call(nil, "pool.dataset.create", map[string]any{
		"name": "tank/k8s", "user_properties": []any{map[string]any{"key": truenas.OwnerProperty, "value": "home/home"}},
	})
	box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/logs"})
	box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/models", "type": "VOLUME", "volsize": gib})
	report, err := preflight.Run(t.Context(), subject)
	require.NoError(t, err)
	require.Equal(t, preflight.Report{
		{Name: "nas", Result: preflight.OK, Sentence: "TrueNAS 25.10.6 answers at " + box.Connection.Endpoint + ", and accepts the key of em-infra"},
		{Name: "nas-roles", Result: preflight.OK, Sentence: "user em-infra of TrueNAS has the roles that the storage needs"},
		{Name: "nas-pool", Result: preflight.OK, Sentence: "pool tank of TrueNAS is healthy and has 99 GiB free"},
		{Name: "nas-dataset", Result: preflight.Fail, Sentence: "tank/models on TrueNAS is a volume, no filesystem", Remedy: "give the dataset another name in cluster.yaml"},
		{
			Name: "nas-dataset", Result: preflight.Warn, Sentence: "dataset tank/logs is on TrueNAS already: up changes it to what cluster.yaml says, and never deletes it",
			Remedy: "nothing if it is to be adopted; otherwise give the dataset another name in cluster.yaml",
		},
	}, checksOfNAS(report))
	var names []struct{ ID string }
	box.Call(&names, "pool.dataset.query")
	require.Len(t, names, 4)
}

// TestABoxThatLetsNobodyIn is one finding with what to do; the key is in none.
func TestABoxThatLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		alter            func(*truenastest.Box, *preflight.Box)
		sentence, remedy string
	}{
		"expired key": {
			func(b *truenastest.Box, _ *preflight.Box) { b.Fail(fault.Fault{Name: "nas-key-expired"}) },
			"the API key of em-infra has expired, or TrueNAS has revoked it", "make another in Credentials > Users > API Keys",
		},
		"wrong key": {
			func(_ *truenastest.Box, b *preflight.Box) { b.Connection.APIKey = "1-wrong" },
			"TrueNAS does not accept the API key of em-infra", "compare the user's name, or make another key in Credentials > Users > API Keys",
		},
		"only REST": {
			func(b *truenastest.Box, _ *preflight.Box) { b.Fail(fault.Fault{Name: "nas-only-rest"}) },
			"TrueNAS at ENDPOINT has no JSON-RPC API", "it is older than 25.04, update it",
		},
		"another certificate": {
			func(_ *truenastest.Box, b *preflight.Box) { b.Connection.Fingerprint = strings.Repeat("00", 32) },
			"the certificate of TrueNAS has the fingerprint FINGERPRINT, which is not the one of the inventory", "compare it with the one on the box, and change it there if it was renewed",
		},
		"an unknown authority": {
			func(_ *truenastest.Box, b *preflight.Box) { b.Connection.Fingerprint = "" },
			"the certificate of TrueNAS at ENDPOINT is not signed by an authority that this machine trusts", "give storage.fingerprint or storage.caFile",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject, box := boxed(t)
			test.alter(box, subject.Box)
			report, err := preflight.Run(t.Context(), subject)
			require.NoError(t, err)
			sentence := strings.NewReplacer("ENDPOINT", box.Connection.Endpoint, "FINGERPRINT", box.Connection.Fingerprint).Replace(test.sentence)
			require.Equal(t, preflight.Report{{Name: "nas", Result: preflight.Fail, Sentence: sentence, Remedy: test.remedy}}, checksOfNAS(report))
		})
	}
}

// TestThePatienceWithABox is that of the run: when it is over, the box is not connected to, no matter how long a handshake may take.
func TestThePatienceWithABox(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	subject, _ := boxed(t)
	subject.Box.Patience, subject.Box.Connection.Endpoint = time.Nanosecond, "https://"+listener.Addr().String()
	report, err := preflight.Run(t.Context(), subject)
	require.NoError(t, err)
	require.Equal(t, 1, checksOfNAS(report).Count(preflight.Fail))

	mine, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mine.Close()) })
	first, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	require.Equal(t, mine.LocalAddr().String(), first.RemoteAddr().String(), "no connection came before it")
}

// TestABoxThatDoesNotAnswer does not delay the readings of the host, and is a finding with what to do.
func TestABoxThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		alter            func(*testing.T, *truenastest.Box, *preflight.Box)
		sentence, remedy string
	}{
		"a listener that says nothing": {
			func(t *testing.T, _ *truenastest.Box, b *preflight.Box) {
				b.Connection.Endpoint = "https://" + silent(t)
			},
			"TrueNAS does not answer at ENDPOINT (", "check the address, and that the box is on",
		},
		"an API that answers nothing": {
			func(t *testing.T, _ *truenastest.Box, b *preflight.Box) {
				upgrader := websocket.Upgrader{}
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if socket, err := upgrader.Upgrade(w, r, nil); err == nil {
						_, _, _ = socket.ReadMessage()
						_, _, _ = socket.ReadMessage() // until the client is gone
					}
				}))
				t.Cleanup(server.Close)
				b.Connection.Endpoint, b.Connection.Fingerprint = server.URL, ""
			},
			"auth.login_ex: TrueNAS has not answered (context deadline exceeded)", "see that the box works, and run it again",
		},
		"a connection that breaks": {
			func(_ *testing.T, b *truenastest.Box, s *preflight.Box) {
				b.Fail(fault.Fault{Name: "nas-connection-cut", Times: 10})
				s.Patience = time.Minute // for all attempts
			},
			"auth.login_ex: the connection to TrueNAS broke before the answer (", "run it again, what was done is found and not repeated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject, box := boxed(t)
			subject.Box.Patience = 5 * time.Second
			test.alter(t, box, subject.Box)
			report, err := preflight.Run(t.Context(), subject)
			require.NoError(t, err)
			found := checksOfNAS(report.Unsound())
			require.Len(t, found, 1)
			require.Equal(t, preflight.Check{Name: "nas", Result: preflight.Fail, Sentence: found[0].Sentence, Remedy: test.remedy}, found[0])
			require.Contains(t, found[0].Sentence, strings.ReplaceAll(test.sentence, "ENDPOINT", subject.Box.Connection.Endpoint))
			for _, check := range report {
				require.False(t, check.Result == preflight.Fail && check.Name != "nas", check.Sentence)
			}
		})
	}
}

// silent returns the address of a listener that accepts connections and sends nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			defer connection.Close() //nolint:errcheck // the client is gone
		}
	}()
	return listener.Addr().String()
}

// TestAUserWithoutRoles: the report names the roles that the user lacks, and what could not be read without them.
func TestAUserWithoutRoles(t *testing.T) {
	t.Parallel()
	subject, box := boxed(t)
	client, err := box.Connection.Open(t.Context())
	require.NoError(t, err)
	key, err := client.WriteAccount(t.Context(), truenas.Account{Name: "reader", Roles: []string{"DATASET_READ"}, Owner: "x/y"}, false)
	require.NoError(t, err)
	require.NoError(t, client.Close())
	subject.Box.Connection.Username, subject.Box.Connection.APIKey = "reader", key
	report, err := preflight.Run(t.Context(), subject)
	require.NoError(t, err)
	require.Equal(t, preflight.Report{
		{
			Name: "nas-roles", Result: preflight.Fail,
			Sentence: "user reader of TrueNAS lacks the roles POOL_READ, DATASET_WRITE, SHARING_NFS_WRITE, SERVICE_READ, SERVICE_WRITE, ACCOUNT_WRITE, PRIVILEGE_WRITE, API_KEY_WRITE",
			Remedy:   "add them in Credentials > Groups > Privileges of TrueNAS, to the privilege of its group",
		},
		{Name: "nas-pool", Result: preflight.Fail, Sentence: "TrueNAS, pool.query: Not authorized", Remedy: "the user of the API key lacks a role, see docs/storage.md"},
	}, checksOfNAS(report.Unsound()))
}

func emptyIsNil(report preflight.Report) preflight.Report {
	if len(report) == 0 {
		return nil
	}
	return report
}

const csiYAML = `storage: {endpoint: https://nas.example, pool: tank, datasets: [{name: k8s}], iscsi: {}}
addons:
  truenas:
    host: nas.example
    csi: {storageClasses: [{name: truenas-iscsi, protocol: iscsi}]}
`

// TestWhatTheCSIDriverExpects of the box, whose targets have another name than the driver's own default.
func TestWhatTheCSIDriverExpects(t *testing.T) {
	t.Parallel()
	ok := preflight.Check{Name: "nas-csi", Result: preflight.OK, Sentence: "the iSCSI targets of TrueNAS begin with iqn.2005-10.org.freenas.ctl"}
	cluster := strings.Replace(clusterYAML, "extensions: [", "extensions: [siderolabs/iscsi-tools, ", 1)
	for name, test := range map[string]struct {
		alter  func(*preflight.NAS)
		change *strings.Replacer
		want   preflight.Report
	}{
		"as it is": {want: preflight.Report{ok}},
		"25.04": {
			alter: func(n *preflight.NAS) { n.Version.Value = "25.04.2" },
			want: preflight.Report{
				{Name: "nas-csi", Result: preflight.Fail, Sentence: "TrueNAS 25.04.2 at https://nas.example is too old for truenas-csi", Remedy: "update it to 25.10 or later, or remove addons.truenas.csi"}, ok,
			},
		},
		"another base": {
			alter: func(n *preflight.NAS) { n.ISCSIBase.Value = "iqn.2000-01.io.truenas" },
			want: preflight.Report{{
				Name: "nas-csi", Result: preflight.Fail, Sentence: "the iSCSI targets of TrueNAS begin with iqn.2000-01.io.truenas, and not with iqn.2005-10.org.freenas.ctl: no node could log in",
				Remedy: "write iqnBase: iqn.2000-01.io.truenas into addons.truenas.csi",
			}},
		},
		"unread base": {
			alter: func(n *preflight.NAS) { n.ISCSIBase.Err = remedy.Errorf("the user lacks a role", "Not authorized") },
			want:  preflight.Report{{Name: "nas-csi", Result: preflight.Fail, Sentence: "Not authorized", Remedy: "the user lacks a role"}},
		},
		"nfs alone": {
			alter:  func(n *preflight.NAS) { n.ISCSIBase.Value = "iqn.2000-01.io.truenas" },
			change: strings.NewReplacer("protocol: iscsi", "protocol: nfs"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found := soundNAS(t)
			found.NAS.ISCSIBase.Value = "iqn.2005-10.org.freenas.ctl"
			if test.alter != nil {
				test.alter(found.NAS)
			}
			text := cluster + csiYAML
			if test.change != nil {
				text = test.change.Replace(text)
			}
			report := preflight.Evaluate(inventoryOf(t, text, nodesYAML), found)
			require.Equal(t, test.want, emptyIsNil(slices.DeleteFunc(report, func(c preflight.Check) bool { return c.Name != "nas-csi" })))
		})
	}
	subject, _ := boxed(t)
	subject.Inventory = inventoryOf(t, cluster+csiYAML, nodesYAML)
	report, err := preflight.Run(t.Context(), subject)
	require.NoError(t, err)
	require.Contains(t, report, ok)
}
