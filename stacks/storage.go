package stacks

import (
	"context"
	"os"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// labStorage is the box of a rehearsal, in the place of the inventory's.
type labStorage struct {
	endpoint, fingerprint string
}

// parseLabStorage reads URL#FINGERPRINT, the form of [KeyLabStorage].
func parseLabStorage(text string) labStorage {
	endpoint, fingerprint, _ := strings.Cut(text, "#")
	return labStorage{endpoint, fingerprint}
}

// newStorage creates what the cluster has on its TrueNAS box; nil without `storage:`. The error is a [*inventory.Problems] about the API
// key and the CA, which only a run can read.
func newStorage(ctx *pulumi.Context, inv *inventory.Inventory, s settings, options Options, protect pulumi.ResourceOption) (*components.TrueNASStorage, error) {
	if inv.Cluster.Storage == nil || !options.Until.Reaches(components.PhaseProvision) {
		return nil, nil
	}
	api, err := storageAPI(ctx, inv, s, options)
	if err != nil {
		return nil, err
	}
	provider, err := components.NewTrueNASProvider(ctx, "truenas", api, protect)
	if err != nil {
		return nil, err
	}
	return components.NewTrueNASStorage(ctx, inv.Cluster.Name+"-storage", storageArgs(ctx.Stack(), inv), pulumi.Providers(provider), protect)
}

// storageAPI returns the connection to the box: that of the inventory, or of the rehearsal.
func storageAPI(ctx *pulumi.Context, inv *inventory.Inventory, s settings, options Options) (components.TrueNASAPI, error) {
	access, err := newKeys(ctx, inv, options).storageAccess(s.labStorage)
	return components.TrueNASAPI{
		Endpoint: access.Endpoint, Fingerprint: access.Fingerprint, CA: access.CA, Username: access.Username, APIKey: secretText(access.APIKey),
	}, err
}

// StorageAccess is how the TrueNAS box of an inventory is reached, and by whom.
type StorageAccess struct {
	// Endpoint is the URL of the box.
	Endpoint string
	// Fingerprint is the SHA-256 of its certificate; empty if the certificate is verified.
	Fingerprint string
	// CA are the authorities that its certificate is verified with, in PEM; empty for those of this machine.
	CA string
	// Username is the user that the key belongs to.
	Username string
	// APIKey of that user. Secret.
	APIKey string
}

// NASKeyVariable is the environment variable with the API key of the NAS.
var NASKeyVariable = truenasAPIKey.variable()

// ReadStorageAccess returns the access to the box of an inventory with `storage:`, as a run of its stack has it. configured reads the
// stack's configuration in clear, by names without their namespace. The error is a [*inventory.Problems]: a key or a CA is missing.
func ReadStorageAccess(ctx context.Context, inv *inventory.Inventory, stack string, configured func(name string) string, read SecretsReader) (StorageAccess, error) {
	k := &keys{inv: inv, stack: stack, configured: configured, file: fileReader(ctx, inv.Dir, read)}
	return k.storageAccess(parseLabStorage(configured(KeyLabStorage)))
}

func (k *keys) storageAccess(rehearsed labStorage) (StorageAccess, error) {
	storage := k.inv.Cluster.Storage
	access := StorageAccess{Endpoint: storage.Endpoint, Fingerprint: storage.Fingerprint, Username: storage.Username}
	if rehearsed.endpoint != "" {
		access.Endpoint, access.Fingerprint = rehearsed.endpoint, rehearsed.fingerprint
		access.APIKey = k.configured(truenasAPIKey.config) // of the rehearsal, and of nothing else
		return access, nil
	}
	if k.configured(KeyLabNetwork) != "" { // a rehearsal never asks the real box
		k.refuse(strictyaml.Fault{
			What: "is not in the lab", Rule: "this file had none when the lab was started", Do: "run `em-infra lab stop --stack " + k.stack + "`, then this again",
		}, "storage")
		return access, k.problems.OrNil()
	}
	access.APIKey = k.text(truenasAPIKey, "storage")
	if storage.CAFile != "" {
		access.CA = k.authority(storage.CAFile)
	}
	return access, k.problems.OrNil()
}

// authority reads the file with the CA of the box.
func (k *keys) authority(path string) string {
	at := []string{"storage", "caFile"}
	place, err := beside(k.inv, path)
	if err != nil {
		k.refuse(strictyaml.Fault{What: "leads nowhere", Rule: err.Error(), Got: path, Do: "give an absolute path"}, at...)
		return ""
	}
	text, err := os.ReadFile(place)
	switch {
	case err != nil:
		k.refuse(strictyaml.Fault{What: "is no file that can be read", Rule: "it is looked for at " + place, Got: path, Do: "correct the path"}, at...)
	case !strings.Contains(string(text), "-----BEGIN CERTIFICATE-----"):
		k.refuse(strictyaml.Fault{What: "holds no certificate in PEM", Rule: "it is looked for at " + place, Do: "export it in Credentials > Certificates of TrueNAS' web interface"}, at...)
	}
	return string(text)
}

// StorageOwner returns what a stack writes into its datasets on TrueNAS, so that it recognizes them later.
func StorageOwner(stack string, inv *inventory.Inventory) string {
	return stack + "/" + inv.Cluster.Name
}

// storageArgs maps the inventory.
func storageArgs(stack string, inv *inventory.Inventory) *components.TrueNASStorageArgs {
	storage := inv.Cluster.Storage
	args := &components.TrueNASStorageArgs{Owner: StorageOwner(stack, inv), Keep: storage.Protect}
	for _, dataset := range storage.Datasets {
		mapped := components.TrueNASDatasetArgs{
			Name: storage.Path(dataset), QuotaGiB: dataset.QuotaGiB, RefQuotaGiB: dataset.RefQuotaGiB, Compression: string(dataset.Compression),
			RecordSize: string(dataset.RecordSize), ShareType: string(dataset.ShareType),
		}
		if nfs := dataset.NFS; nfs != nil {
			mapped.NFS = &components.TrueNASShare{Networks: nfs.Networks, MapRootUser: nfs.MapRootUser, ReadOnly: nfs.ReadOnly}
		}
		args.Datasets = append(args.Datasets, mapped)
	}
	if iscsi := storage.ISCSI; iscsi != nil {
		args.ISCSI = &components.TrueNASISCSI{Listen: iscsi.Listen, Initiators: iscsi.Initiators}
	}
	if truenas := inv.Cluster.Addons.TrueNAS; truenas != nil {
		args.Account = "csi-" + inv.Cluster.Name
		args.ServesTrueNASCSI = truenas.CSI != nil
		args.ServesNFS = truenas.CSI != nil && truenas.CSI.Serves(inventory.ProtocolNFS)
	}
	return args
}
