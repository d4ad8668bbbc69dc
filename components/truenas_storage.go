package components

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// Tokens of the resources of TrueNAS (internal/truenas/provider).
const (
	tokenDataset        = token.Dataset
	tokenShare          = token.NFSShare
	tokenPortal         = token.ISCSIPortal
	tokenInitiatorGroup = token.ISCSIInitiatorGroup
	tokenService        = token.Service
	tokenAccount        = token.Account
)

// TrueNASStorage is what a cluster has on a TrueNAS box before its machines: services that are on, datasets and their shares, where
// iSCSI listens, and the account of its CSI driver.
type TrueNASStorage struct {
	pulumi.ResourceState

	// APIKey of the account of the CSI driver, secret; nil without one.
	APIKey pulumi.StringOutput
	// Datasets in the order of the arguments.
	Datasets []*TrueNASDataset
	// made are all resources below it.
	made []pulumi.Resource
}

// TrueNASStorageArgs describe the storage of a cluster.
type TrueNASStorageArgs struct {
	// Owner is the stack and the cluster, e.g. k3s-dev/k3s-dev. It is written into what is created. Required.
	Owner string
	// Keep leaves datasets, shares and iSCSI objects on the box when they are removed from the program. Default: false.
	Keep bool
	// Datasets are created in this order, without their owner, which is the storage's. Required.
	Datasets []TrueNASDatasetArgs
	// ISCSI is where the iSCSI service listens. Default: nil, it is not touched.
	ISCSI *TrueNASISCSI
	// ServesNFS switches the NFS service on even if no dataset has a share: the CSI driver makes some. Default: false.
	ServesNFS bool
	// Account is the user of the CSI driver, which gets an API key and the roles that the driver needs. Default: empty, none.
	Account string
	// ServesTrueNASCSI gives the account the further role that truenas-csi needs. It needs TrueNAS 25.10. Default: false. A change is made in place.
	ServesTrueNASCSI bool
}

// TrueNASISCSI is where the iSCSI service listens, and who may log in.
type TrueNASISCSI struct {
	// Listen are addresses of the box. Required. A change is made in place.
	Listen []netip.Addr
	// Initiators are IQNs. Default: none, all initiators may log in. A change is made in place.
	Initiators []string
}

// driverRoles are what a CSI driver calls: datasets, snapshots, shares and iSCSI objects, and it looks at pools (truenas/truenas-csi,
// pkg/client/storage.go; the roles are those of truenas/middleware, role.py).
var driverRoles = []string{
	"POOL_READ", "DATASET_WRITE", "DATASET_DELETE", "SNAPSHOT_WRITE", "SNAPSHOT_DELETE", "SNAPSHOT_TASK_WRITE", "SHARING_NFS_WRITE", "SHARING_ISCSI_WRITE",
}

// csiRole allows zfs.resource.query, by which truenas-csi reads the free space of the pool (pkg/client/storage.go, GetAvailableSpace). 25.04 has no
// such role and refuses a privilege with it; it exists since 25.10.0, and no role for datasets includes it (truenas/middleware, role.py).
const csiRole = "ZFS_RESOURCE_READ"

// NewTrueNASStorage creates the storage of a cluster. It returns an error if an argument is missing.
func NewTrueNASStorage(ctx *pulumi.Context, name string, args *TrueNASStorageArgs, opts ...pulumi.ResourceOption) (*TrueNASStorage, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("truenas storage %q: %w", name, err)
	}
	s := &TrueNASStorage{}
	if err := ctx.RegisterComponentResourceV2(typeTrueNASStorage, name, pulumi.Map{"owner": pulumi.String(args.Owner)}, s, opts...); err != nil {
		return nil, err
	}
	for _, add := range []func(*pulumi.Context, string, *TrueNASStorageArgs) error{s.addDatasets, s.addISCSI, s.addServices, s.addAccount} {
		if err := add(ctx, name, args); err != nil {
			return nil, fmt.Errorf("truenas storage %q: %w", name, err)
		}
	}
	return s, ctx.RegisterResourceOutputs(s, pulumi.Map{})
}

// makers returns the resources that machines of the cluster depend on.
func (s *TrueNASStorage) makers() []pulumi.Resource {
	if s == nil {
		return nil
	}
	return s.made
}

func (args *TrueNASStorageArgs) validate() error {
	if args == nil {
		return errors.New("args: give TrueNASStorageArgs")
	}
	problems := []error{
		require(args.Owner != "", "Owner", "name the stack and the cluster"),
		require(len(args.Datasets) > 0, "Datasets", "give at least one"),
		require(args.ISCSI == nil || len(args.ISCSI.Listen) > 0, "ISCSI.Listen", "give at least one address"),
	}
	seen := map[string]int{}
	for i, dataset := range args.Datasets {
		name := datasetName(dataset.Name)
		if before, twice := seen[name]; twice {
			problems = append(problems, require(false, fmt.Sprintf("Datasets[%d].Name", i), fmt.Sprintf("%q cannot be told from %q, that of Datasets[%d] (both are %s in the state): choose another", dataset.Name, args.Datasets[before].Name, before, name)))
			continue
		}
		seen[name] = i
	}
	return errors.Join(problems...)
}

// datasetName returns the end of a dataset's logical name: its name below the pool.
func datasetName(name string) string {
	_, below, _ := strings.Cut(name, "/")
	return strings.ReplaceAll(below, "/", "-")
}

// addDatasets creates the datasets one after the other if one holds the next, else side by side.
func (s *TrueNASStorage) addDatasets(ctx *pulumi.Context, name string, args *TrueNASStorageArgs) error {
	for _, each := range args.Datasets {
		each.Owner, each.Keep = args.Owner, args.Keep
		dataset, err := NewTrueNASDataset(ctx, name+"-"+datasetName(each.Name), &each, pulumi.Parent(s), s.after(each.Name))
		if err != nil {
			return err
		}
		s.Datasets, s.made = append(s.Datasets, dataset), append(s.made, dataset.made...)
	}
	return nil
}

// register creates a resource of the storage itself.
func (s *TrueNASStorage) register(ctx *pulumi.Context, token, name string, inputs pulumi.Map, made pulumi.CustomResource, opts ...pulumi.ResourceOption) error {
	s.made = append(s.made, made)
	return ctx.RegisterResource(token, name, inputs, made, append(opts, pulumi.Parent(s))...)
}

// after makes a dataset wait for those that hold it.
func (s *TrueNASStorage) after(name string) pulumi.ResourceOption {
	var above []pulumi.Resource
	for _, dataset := range s.Datasets {
		if strings.HasPrefix("/mnt/"+name, dataset.Path+"/") {
			above = append(above, dataset.made...)
		}
	}
	return pulumi.DependsOn(above)
}

// addISCSI creates the portal and the group of initiators. The targets are made by the CSI driver.
func (s *TrueNASStorage) addISCSI(ctx *pulumi.Context, name string, args *TrueNASStorageArgs) error {
	if args.ISCSI == nil {
		return nil
	}
	listen := make([]string, len(args.ISCSI.Listen))
	for i, address := range args.ISCSI.Listen {
		listen[i] = address.String()
	}
	owner := pulumi.String(args.Owner)
	keep := pulumi.RetainOnDelete(args.Keep)
	portal := pulumi.Map{"listen": pulumi.ToStringArray(listen), "owner": owner}
	if err := s.register(ctx, tokenPortal, name+"-iscsi-portal", portal, &trueNASObject{}, keep); err != nil {
		return err
	}
	group := pulumi.Map{"initiators": pulumi.ToStringArray(append([]string{}, args.ISCSI.Initiators...)), "owner": owner}
	return s.register(ctx, tokenInitiatorGroup, name+"-iscsi-initiators", group, &trueNASObject{}, keep)
}

// addServices switches on what is used, after it is configured. They stay on when the stack is destroyed: others may use them.
func (s *TrueNASStorage) addServices(ctx *pulumi.Context, name string, args *TrueNASStorageArgs) error {
	var shares []pulumi.Resource
	for at, dataset := range s.Datasets {
		if args.Datasets[at].NFS != nil {
			shares = append(shares, dataset.share)
		}
	}
	services := map[string]bool{"nfs": len(shares) > 0 || args.ServesNFS, "iscsitarget": args.ISCSI != nil}
	for _, service := range []string{"nfs", "iscsitarget"} {
		if !services[service] {
			continue
		}
		inputs := pulumi.Map{"name": pulumi.String(service), "enabled": pulumi.Bool(true), "running": pulumi.Bool(true)}
		if err := s.register(ctx, tokenService, name+"-"+service, inputs, &trueNASObject{}, pulumi.DependsOn(shares)); err != nil {
			return err
		}
	}
	return nil
}

// trueNASAccount is a user with an API key.
type trueNASAccount struct {
	pulumi.CustomResourceState

	APIKey pulumi.StringOutput `pulumi:"apiKey"`
}

// addAccount creates the user of the CSI driver. It is deleted with the stack even if the data are kept: otherwise its key would still give access
// to them.
func (s *TrueNASStorage) addAccount(ctx *pulumi.Context, name string, args *TrueNASStorageArgs) error {
	if args.Account == "" {
		return nil
	}
	account, roles := &trueNASAccount{}, slices.Clone(driverRoles)
	if args.ServesTrueNASCSI {
		roles = append(roles, csiRole)
	}
	inputs := pulumi.Map{
		"name": pulumi.String(args.Account), "roles": pulumi.ToStringArray(roles), "hasKey": pulumi.Bool(true), "owner": pulumi.String(args.Owner),
	}
	err := s.register(ctx, tokenAccount, name+"-csi", inputs, account, pulumi.AdditionalSecretOutputs([]string{"apiKey"}))
	s.APIKey = account.APIKey
	return err
}
