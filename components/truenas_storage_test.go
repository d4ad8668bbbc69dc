package components_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

func storageFixture() *components.TrueNASStorageArgs {
	return &components.TrueNASStorageArgs{
		Owner: "k3s-dev/k3s-dev", Account: "csi-k3s-dev",
		Datasets: []components.TrueNASDatasetArgs{
			{Name: "tank/k8s", QuotaGiB: 500, Compression: "ZSTD", ShareType: "GENERIC"},
			{Name: "tank/k8s/nfs", ShareType: "NFS", NFS: &components.TrueNASShare{Networks: []netip.Prefix{netip.MustParsePrefix("192.168.20.0/24")}}},
		},
		ISCSI: &components.TrueNASISCSI{Listen: []netip.Addr{netip.MustParseAddr("0.0.0.0")}},
	}
}

// stored registers a storage and a template that waits for it.
func stored(args *components.TrueNASStorageArgs) func(*pulumi.Context, pulumi.ResourceOption) error {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		provider, err := components.NewTrueNASProvider(ctx, "truenas", components.TrueNASAPI{
			Endpoint: "https://nas.example", Username: "em-infra", APIKey: pulumi.String("1-made-up"),
		})
		if err != nil {
			return err
		}
		storage, err := components.NewTrueNASStorage(ctx, "k3s-dev-storage", args, pulumi.Providers(provider))
		if err != nil {
			return err
		}
		template := templateFixture("vmhost")
		template.Storage = storage
		_, err = components.NewTalosTemplate(ctx, "template", template, providers)
		return err
	}
}

// TestTheAccountOfTrueNASCSIAsksForFreeRoom: 25.04 would refuse the role, so only truenas-csi, which needs 25.10, has it.
func TestTheAccountOfTrueNASCSIAsksForFreeRoom(t *testing.T) {
	t.Parallel()
	for _, serves := range []bool{true, false} {
		args := storageFixture()
		args.ServesTrueNASCSI = serves
		r, err := run(t, false, stored(args))
		require.NoError(t, err)
		inputs, err := recorder.Inputs(r.Named(t, "truenas:index:Account", "k3s-dev-storage-csi"))
		require.NoError(t, err)
		roles := fmt.Sprint(inputs)
		require.Equal(t, serves, strings.Contains(roles, "ZFS_RESOURCE_READ"), roles)
		require.Contains(t, roles, "DATASET_WRITE")
	}
}

func TestInputsOfAStorageAreGolden(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, stored(storageFixture()))
	require.NoError(t, err)
	for _, each := range []struct{ token, name string }{
		{"pulumi:providers:truenas", "truenas"},
		{"truenas:index:Dataset", "k3s-dev-storage-k8s-dataset"},
		{"truenas:index:Dataset", "k3s-dev-storage-k8s-nfs-dataset"},
		{"truenas:index:NfsShare", "k3s-dev-storage-k8s-nfs-nfs"},
		{"truenas:index:IscsiPortal", "k3s-dev-storage-iscsi-portal"},
		{"truenas:index:IscsiInitiatorGroup", "k3s-dev-storage-iscsi-initiators"},
		{"truenas:index:Service", "k3s-dev-storage-nfs"},
		{"truenas:index:Service", "k3s-dev-storage-iscsitarget"},
		{"truenas:index:Account", "k3s-dev-storage-csi"},
	} {
		inputs, err := recorder.Inputs(r.Named(t, each.token, each.name))
		require.NoError(t, err)
		require.NotContains(t, inputs, "made-up", "the key is a secret")
		golden.Equal(t, "testdata/inputs/"+each.name+".json", inputs)
	}
}

// TestTheStorageIsThereBeforeTheMachines checks what waits for what.
func TestTheStorageIsThereBeforeTheMachines(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, stored(storageFixture()))
	require.NoError(t, err)
	waits := func(token, name string) []string {
		return recorder.ShortURNs(r.Named(t, token, name).RegisterRPC.GetDependencies())
	}
	require.Contains(t, waits(tokenVM, "template-vm"), "k3s-dev-storage-k8s-nfs-nfs", "a template waits for every share")
	require.Contains(t, waits("truenas:index:NfsShare", "k3s-dev-storage-k8s-nfs-nfs"), "k3s-dev-storage-k8s-nfs-dataset")
	require.Contains(t, waits("truenas:index:Service", "k3s-dev-storage-nfs"), "k3s-dev-storage-k8s-nfs-nfs", "a service starts with its shares")
}

// TestEachDatasetWaitsForAllThatHoldIt, no matter how soon it is registered after them: with dependencies on components, some of these many were
// missing.
func TestEachDatasetWaitsForAllThatHoldIt(t *testing.T) {
	t.Parallel()
	args := &components.TrueNASStorageArgs{Owner: "k3s-dev/k3s-dev"}
	name, above := "tank", []string{}
	want := map[string][]string{}
	for depth := range 40 {
		name += fmt.Sprintf("/d%d", depth)
		args.Datasets = append(args.Datasets, components.TrueNASDatasetArgs{Name: name, ShareType: "GENERIC"})
		dataset := "k3s-dev-storage-" + strings.ReplaceAll(strings.TrimPrefix(name, "tank/"), "/", "-")
		want[dataset] = slices.Clone(above)
		above = append(above, dataset+"-dataset")
	}
	r, err := run(t, false, stored(args))
	require.NoError(t, err)
	for dataset, above := range want {
		require.ElementsMatch(t, above, recorder.ShortURNs(r.Named(t, "em-infra:index:TrueNASDataset", dataset).RegisterRPC.GetDependencies()), dataset)
	}
}

// TestAProtectedStorageIsKept checks that data and what leads to them stay, and that the account goes.
func TestAProtectedStorageIsKept(t *testing.T) {
	t.Parallel()

	for _, keep := range []bool{true, false} {
		args := storageFixture()
		args.Keep = keep
		r, err := run(t, false, stored(args))
		require.NoError(t, err)
		for key, registered := range r.Resources {
			if !registered.Custom || registered.TypeToken == "pulumi:providers:truenas" || registered.TypeToken[:8] != "truenas:" {
				continue
			}
			kept := keep && registered.TypeToken != "truenas:index:Account" && registered.TypeToken != "truenas:index:Service"
			require.Equal(t, kept, registered.RegisterRPC.GetRetainOnDelete(), key)
		}
	}
}

// TestTheNFSServiceServesTheVolumesOfTheDriver even if no dataset is shared.
func TestTheNFSServiceServesTheVolumesOfTheDriver(t *testing.T) {
	t.Parallel()
	for _, serves := range []bool{true, false} {
		r, err := run(t, false, stored(&components.TrueNASStorageArgs{
			Owner: "k3s-dev/k3s-dev", ServesNFS: serves, Datasets: []components.TrueNASDatasetArgs{{Name: "tank/k8s", ShareType: "GENERIC"}},
		}))
		require.NoError(t, err)
		want := []string(nil)
		if serves {
			want = []string{" k3s-dev-storage-nfs"}
		}
		require.Equal(t, want, r.Names("truenas:index:Service"))
	}
}

func TestAStorageIsRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	refused := func(args *components.TrueNASStorageArgs) error { return refusal(t, stored(args)) }
	require.EqualError(t, refused(nil), `truenas storage "k3s-dev-storage": args: give TrueNASStorageArgs`)
	require.EqualError(t, refused(&components.TrueNASStorageArgs{ISCSI: &components.TrueNASISCSI{}}), `truenas storage "k3s-dev-storage": Owner: name the stack and the cluster
Datasets: give at least one
ISCSI.Listen: give at least one address`)
	require.EqualError(t, refused(&components.TrueNASStorageArgs{Owner: "a/b", Datasets: []components.TrueNASDatasetArgs{{QuotaGiB: -1, NFS: &components.TrueNASShare{}}}}),
		`truenas storage "k3s-dev-storage": truenas dataset "k3s-dev-storage-": Name: name the dataset with its pool
ShareType: give GENERIC, NFS or MULTIPROTOCOL
QuotaGiB: give 1 or more, or 0 for none
NFS.Networks: give at least one`)
	require.EqualError(t, refused(&components.TrueNASStorageArgs{Owner: "a/b", Datasets: []components.TrueNASDatasetArgs{{Name: "tank/k8s/media"}, {Name: "tank/k8s-media"}, {Name: "ssd/k8s/media"}}}),
		`truenas storage "k3s-dev-storage": Datasets[1].Name: "tank/k8s-media" cannot be told from "tank/k8s/media", that of Datasets[0] (both are k8s-media in the state): choose another
Datasets[2].Name: "ssd/k8s/media" cannot be told from "tank/k8s/media", that of Datasets[0] (both are k8s-media in the state): choose another`)
	err := refusal(t, func(ctx *pulumi.Context, _ pulumi.ResourceOption) error {
		_, err := components.NewTrueNASProvider(ctx, "truenas", components.TrueNASAPI{Fingerprint: "00", CA: "x"})
		return err
	})
	require.EqualError(t, err, `truenas provider "truenas": API.Endpoint: give the URL of the box, e.g. https://nas.example
API.CA: give a CA or a Fingerprint, not both
API.Username: give the user whose API key it is
API.APIKey: give the API key`)
}
