package provider_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/internal/truenas/provider"
)

const owner = "home/k3s-dev"

// rig is the provider with a box, and the warnings that it has shown the user.
type rig struct {
	*provider.Provider

	t        *testing.T
	box      *truenastest.Box
	warnings *[]string
}

func configured(t *testing.T) rig {
	t.Helper()
	box, warnings := truenastest.Serve(t), &[]string{}
	p := provider.New(func(_ resource.URN, text string) { *warnings = append(*warnings, text) })
	_, err := p.Configure(t.Context(), plugin.ConfigureRequest{Inputs: resource.NewPropertyMapFromMap(map[string]any{
		"endpoint": box.Connection.Endpoint, "fingerprint": box.Connection.Fingerprint, "username": "em-infra",
		"apiKey": resource.MakeSecret(resource.NewProperty(box.Connection.APIKey)),
	})})
	require.NoError(t, err)
	return rig{p, t, box, warnings}
}

func token(name string) tokens.Type { return tokens.Type("truenas:index:" + name) }

func properties(inputs map[string]any) resource.PropertyMap {
	return resource.NewPropertyMapFromMap(inputs)
}

func (r rig) create(name string, inputs map[string]any) resource.PropertyMap {
	r.t.Helper()
	made, err := r.Create(r.t.Context(), plugin.CreateRequest{Type: token(name), Properties: properties(inputs)})
	require.NoError(r.t, err)
	require.NotEmpty(r.t, made.ID)
	return made.Properties
}

// refresh returns the inputs as they are on the box; nil if the object is gone.
func (r rig) refresh(name, ID string, inputs, state resource.PropertyMap) plugin.ReadResponse {
	r.t.Helper()
	read, err := r.Read(r.t.Context(), plugin.ReadRequest{Type: token(name), ID: resource.ID(ID), Inputs: inputs, State: state})
	require.NoError(r.t, err)
	return read
}

func (r rig) diff(name string, before resource.PropertyMap, after map[string]any) plugin.DiffResult {
	r.t.Helper()
	diff, err := r.Diff(r.t.Context(), plugin.DiffRequest{Type: token(name), OldInputs: before, NewInputs: properties(after)})
	require.NoError(r.t, err)
	return diff
}

func dataset(change ...string) map[string]any {
	inputs := map[string]any{"name": "tank/k8s", "quota": float64(5 << 30), "compression": "ZSTD", "shareType": "NFS", "owner": owner}
	for at := 0; at < len(change); at += 2 {
		inputs[change[at]] = change[at+1]
	}
	return inputs
}

// TestDriftIsSeenAndMended covers objects, their changes by hand, and the inputs that then differ.
func TestDriftIsSeenAndMended(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind, ID string
		inputs   map[string]any
		drift    func(*truenastest.Box)
		differs  []resource.PropertyKey
	}{
		"a quota": {"Dataset", "tank/k8s", dataset(), func(b *truenastest.Box) {
			b.Call(nil, "pool.dataset.update", "tank/k8s", map[string]any{"quota": 7 << 30})
		}, []resource.PropertyKey{"quota"}},
		"a quota that is removed": {"Dataset", "tank/k8s", dataset(), func(b *truenastest.Box) {
			b.Call(nil, "pool.dataset.update", "tank/k8s", map[string]any{"quota": nil})
		}, []resource.PropertyKey{"quota"}},
		"a value that is inherited, although equal": {"Dataset", "tank/k8s", dataset(), func(b *truenastest.Box) {
			b.Call(nil, "pool.dataset.update", "tank", map[string]any{"compression": "ZSTD"})
			b.Call(nil, "pool.dataset.update", "tank/k8s", map[string]any{"compression": "INHERIT"})
		}, []resource.PropertyKey{"compression"}},
		"a value that is set, although equal to what is inherited": {"Dataset", "tank/k8s", dataset(), func(b *truenastest.Box) {
			b.Call(nil, "pool.dataset.update", "tank/k8s", map[string]any{"recordsize": "128K"})
		}, []resource.PropertyKey{"recordSize"}},
		"what is inherited from above is none": {"Dataset", "tank/k8s", dataset(), func(b *truenastest.Box) {
			b.Call(nil, "pool.dataset.update", "tank", map[string]any{"recordsize": "1M"})
		}, nil},
		"a service that was stopped": {"Service", "nfs", map[string]any{"name": "nfs", "enabled": true, "running": true}, func(b *truenastest.Box) {
			b.Call(nil, "service.control", "STOP", "nfs")
		}, []resource.PropertyKey{"running"}},
		"the addresses of a portal": {"IscsiPortal", owner, map[string]any{"listen": []any{"0.0.0.0"}, "owner": owner}, func(b *truenastest.Box) {
			b.Call(nil, "iscsi.portal.update", 1, map[string]any{"listen": []any{map[string]any{"ip": "192.168.20.5"}}})
		}, []resource.PropertyKey{"listen"}},
		"the members of an initiator group": {"IscsiInitiatorGroup", owner, map[string]any{"initiators": []any{"iqn.a", "iqn.b"}, "owner": owner}, func(b *truenastest.Box) {
			b.Call(nil, "iscsi.initiator.update", 1, map[string]any{"initiators": []any{}})
		}, []resource.PropertyKey{"initiators"}},
		"their order is none": {"IscsiInitiatorGroup", owner, map[string]any{"initiators": []any{"iqn.a", "iqn.b"}, "owner": owner}, func(b *truenastest.Box) {
			b.Call(nil, "iscsi.initiator.update", 1, map[string]any{"initiators": []any{"iqn.b", "iqn.a"}})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := configured(t)
			state := r.create(test.kind, test.inputs)
			same := r.refresh(test.kind, test.ID, properties(test.inputs), state)
			require.Equal(t, plugin.DiffNone, r.diff(test.kind, same.Inputs, test.inputs).Changes, "nothing was changed yet: %v", same.Inputs)

			test.drift(r.box)
			drifted := r.refresh(test.kind, test.ID, properties(test.inputs), state)
			diff := r.diff(test.kind, drifted.Inputs, test.inputs)
			require.Equal(t, test.differs, diff.ChangedKeys)
			require.Empty(t, diff.ReplaceKeys)
			_, err := r.Update(t.Context(), plugin.UpdateRequest{
				Type: token(test.kind), ID: resource.ID(test.ID), OldInputs: drifted.Inputs, OldOutputs: drifted.Outputs, NewInputs: properties(test.inputs),
			})
			require.NoError(t, err)
			mended := r.refresh(test.kind, test.ID, properties(test.inputs), state)
			require.Equal(t, plugin.DiffNone, r.diff(test.kind, mended.Inputs, test.inputs).Changes)
		})
	}
}

func share() map[string]any {
	return map[string]any{"path": "/mnt/tank/k8s", "networks": []any{"192.168.20.0/24"}, "enabled": true, "owner": owner}
}

func TestADeletedShareIsGone(t *testing.T) {
	t.Parallel()
	r := configured(t)
	r.create("Dataset", dataset())
	state := r.create("NfsShare", share())
	r.box.Call(nil, "sharing.nfs.delete", 1)
	require.Empty(t, r.refresh("NfsShare", "/mnt/tank/k8s", properties(share()), state).ID)
	_, err := r.Delete(t.Context(), plugin.DeleteRequest{Type: token("NfsShare"), Inputs: properties(share())})
	require.NoError(t, err, "it is gone already")
}

// TestWhatIsThereIsAdoptedAndKept checks objects that another user has made.
func TestWhatIsThereIsAdoptedAndKept(t *testing.T) {
	t.Parallel()
	r := configured(t)
	r.box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/k8s", "quota": 9 << 30})
	r.box.Call(nil, "sharing.nfs.create", map[string]any{"path": "/mnt/tank/k8s", "networks": []any{"10.0.0.0/8"}})
	r.box.Call(nil, "iscsi.portal.create", map[string]any{"listen": []any{map[string]any{"ip": "0.0.0.0"}}})
	state := r.create("Dataset", dataset())
	r.create("NfsShare", share())
	portal := map[string]any{"listen": []any{"0.0.0.0"}, "owner": owner}
	r.create("IscsiPortal", portal)
	require.Equal(t, properties(dataset()), r.refresh("Dataset", "tank/k8s", properties(dataset()), state).Inputs, "it has the wanted quota")

	for kind, inputs := range map[string]map[string]any{"NfsShare": share(), "Dataset": dataset(), "IscsiPortal": portal} {
		_, err := r.Delete(t.Context(), plugin.DeleteRequest{Type: token(kind), Inputs: properties(inputs)})
		require.NoError(t, err)
	}
	require.ElementsMatch(t, []string{
		"the NFS share of /mnt/tank/k8s stays on TrueNAS: it was there before this stack",
		"tank/k8s stays on TrueNAS: it was there before this stack",
		"the iSCSI portal of 0.0.0.0 stays on TrueNAS: it was there before this stack",
	}, *r.warnings)
	require.NotEmpty(t, r.refresh("Dataset", "tank/k8s", properties(dataset()), nil).ID)
}

func TestDatasetsWithDataAreKept(t *testing.T) {
	r := configured(t)
	r.create("Dataset", dataset())
	remove := func() error {
		_, err := r.Delete(t.Context(), plugin.DeleteRequest{Type: token("Dataset"), Inputs: properties(dataset())})
		return err
	}
	require.NoError(t, r.box.Write("tank/k8s", 3<<30))
	require.NoError(t, remove())
	r.box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/k8s/pvc"})
	require.NoError(t, remove())
	require.Equal(t, []string{
		"tank/k8s stays on TrueNAS with 3.00G of data: to delete them, set EM_INFRA_DELETE_DATASETS=tank/k8s",
		"tank/k8s stays on TrueNAS, since it holds other datasets: to delete all of them, set EM_INFRA_DELETE_DATASETS=tank/k8s",
	}, *r.warnings)

	t.Setenv(truenas.DeleteDataVariable, "tank/other,tank/k8s")
	r.box.Fail(fault.Fault{Name: "nas-dataset-busy", Times: 1})
	require.EqualError(t, remove(), "TrueNAS, pool.dataset.delete: Failed to delete dataset: cannot destroy 'tank/k8s': dataset is busy: something uses it: end its NFS clients and iSCSI sessions, then run it again")
	require.NoError(t, remove())
	require.Empty(t, r.refresh("Dataset", "tank/k8s", properties(dataset()), nil).ID)
}

func TestAReplacementIsAnotherObject(t *testing.T) {
	t.Parallel()
	r := configured(t)
	diff := r.diff("Dataset", properties(dataset()), dataset("name", "tank/other", "compression", "LZ4"))
	require.Equal(t, []resource.PropertyKey{"compression", "name"}, diff.ChangedKeys)
	require.Equal(t, []resource.PropertyKey{"name"}, diff.ReplaceKeys)
	require.Equal(t, plugin.DiffUpdateReplace, diff.DetailedDiff["name"].Kind)
}

// TestAnotherUseOfADatasetCountsForANewOne: a replacement would keep an existing dataset with data as it is, although the run would report a change.
func TestAnotherUseOfADatasetCountsForANewOne(t *testing.T) {
	t.Parallel()
	r := configured(t)
	diff := r.diff("Dataset", properties(dataset()), dataset("shareType", "GENERIC"))
	require.Equal(t, plugin.DiffNone, diff.Changes)
	require.Empty(t, diff.ReplaceKeys)
}

// TestAnAccountHasAKey checks that the key works, is kept, and is made anew when it is gone.
func TestAnAccountHasAKey(t *testing.T) {
	t.Parallel()
	r := configured(t)
	inputs := map[string]any{"name": "csi", "roles": []any{"DATASET_WRITE", "SHARING_NFS_WRITE"}, "hasKey": true, "owner": owner}
	planned, err := r.Create(t.Context(), plugin.CreateRequest{Type: token("Account"), Properties: properties(inputs), Preview: true})
	require.NoError(t, err)
	require.True(t, planned.Properties["apiKey"].SecretValue().Element.IsComputed())
	state := r.create("Account", inputs)
	require.True(t, state["apiKey"].IsSecret())
	key := state["apiKey"].SecretValue().Element.StringValue()
	works := func(key string) error {
		c := r.box.Connection
		c.Username, c.APIKey = "csi", key
		client, err := c.Open(t.Context())
		if err == nil {
			require.NoError(t, client.Close())
		}
		return err
	}
	require.NoError(t, works(key))
	read := r.refresh("Account", "csi", properties(inputs), state)
	require.Equal(t, plugin.DiffNone, r.diff("Account", read.Inputs, inputs).Changes)
	require.Equal(t, state["apiKey"], read.Outputs["apiKey"])

	r.box.Call(nil, "api_key.delete", 2)
	require.Error(t, works(key))
	read = r.refresh("Account", "csi", properties(inputs), state)
	require.Equal(t, []resource.PropertyKey{"hasKey"}, r.diff("Account", read.Inputs, inputs).ChangedKeys)
	request := plugin.UpdateRequest{Type: token("Account"), ID: "csi", OldInputs: read.Inputs, OldOutputs: read.Outputs, NewInputs: properties(inputs), Preview: true}
	updated, err := r.Update(t.Context(), request)
	require.NoError(t, err)
	require.True(t, updated.Properties["apiKey"].SecretValue().Element.IsComputed())
	request.Preview = false
	updated, err = r.Update(t.Context(), request)
	require.NoError(t, err)
	require.NoError(t, works(updated.Properties["apiKey"].SecretValue().Element.StringValue()))

	_, err = r.Delete(t.Context(), plugin.DeleteRequest{Type: token("Account"), Inputs: properties(inputs)})
	require.NoError(t, err)
	require.Empty(t, r.refresh("Account", "csi", properties(inputs), state).ID)
	require.Empty(t, *r.warnings)
}

func TestAFullPoolSaysWhatToDo(t *testing.T) {
	t.Parallel()
	r := configured(t)
	r.box.Fail(fault.Fault{Name: "nas-pool-full"})
	_, err := r.Create(t.Context(), plugin.CreateRequest{Type: token("Dataset"), Properties: properties(dataset())})
	require.EqualError(t, err, "TrueNAS, pool.dataset.create: Failed to create dataset: out of space: the pool tank has no room left: free some, or add disks to it")
	r.box.Mend()
	r.create("Dataset", dataset())
}

// TestImport reads an object by its ID alone.
func TestImport(t *testing.T) {
	t.Parallel()
	r := configured(t)
	r.box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/k8s", "quota": 5 << 30, "compression": "ZSTD"})
	read := r.refresh("Dataset", "tank/k8s", nil, nil)
	require.Equal(t, properties(map[string]any{"name": "tank/k8s", "quota": float64(5 << 30), "compression": "ZSTD", "shareType": "GENERIC", "owner": ""}), read.Inputs)
}
