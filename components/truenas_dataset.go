package components

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// TrueNASDataset is a dataset on a TrueNAS box, and its NFS share.
type TrueNASDataset struct {
	pulumi.ResourceState

	// Path at which clients mount the share, /mnt/POOL/NAME.
	Path string
	// share is what makes it usable: the NFS share, or the dataset itself.
	share pulumi.Resource
	// made are the dataset and its share. A resource that depends on them must name them and not the component: the SDK does not know the children of
	// a component that are still being registered (pulumi sdk/v3 v3.254.0, go/pulumi/context.go: addChild is called on the goroutine of the child).
	made []pulumi.Resource
}

// TrueNASDatasetArgs describe a dataset. One that exists is changed to what is given, and deleted only if it has the same Owner.
type TrueNASDatasetArgs struct {
	// Name with the pool, e.g. tank/k8s. Required. A change creates another dataset.
	Name string
	// Owner is written into the dataset when it is created: what has another owner, or none, is never deleted. Required.
	Owner string
	// QuotaGiB is what it may take with all below it, in GiB. Default: 0, none. A change is made in place.
	QuotaGiB int
	// RefQuotaGiB is what it may take alone, in GiB. Default: 0, none. A change is made in place.
	RefQuotaGiB int
	// Compression such as ZSTD. Default: empty, inherited. A change is made in place.
	Compression string
	// RecordSize such as 128K. Default: empty, inherited. A change is made in place.
	RecordSize string
	// ShareType is GENERIC, NFS or MULTIPROTOCOL. Required. A change counts for a new dataset only: one that is there stays
	// as it is.
	ShareType string
	// NFS exports it. Default: nil, none.
	NFS *TrueNASShare
	// Keep leaves dataset and share on the box when they are removed from the program. Default: false: a dataset is deleted if it is empty.
	Keep bool
}

// TrueNASShare is an NFS share.
type TrueNASShare struct {
	// Networks that may mount it. Required. A change is made in place.
	Networks []netip.Prefix
	// MapRootUser is the user of the box that a client's root is mapped to. Default: empty, nobody. A change is made in place.
	MapRootUser string
	// ReadOnly refuses writes. Default: false. A change is made in place.
	ReadOnly bool
}

// trueNASObject is a resource of TrueNAS that only has to exist. They are registered by their tokens: there is no SDK.
type trueNASObject struct{ pulumi.CustomResourceState }

// NewTrueNASDataset creates a dataset and its share. It returns an error if an argument is missing.
func NewTrueNASDataset(ctx *pulumi.Context, name string, args *TrueNASDatasetArgs, opts ...pulumi.ResourceOption) (*TrueNASDataset, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("truenas dataset %q: %w", name, err)
	}
	d := &TrueNASDataset{Path: "/mnt/" + args.Name}
	if err := ctx.RegisterComponentResourceV2(typeTrueNASDataset, name, pulumi.Map{"name": pulumi.String(args.Name)}, d, opts...); err != nil {
		return nil, err
	}
	keep := pulumi.RetainOnDelete(args.Keep)
	dataset := &trueNASObject{}
	if err := ctx.RegisterResource(tokenDataset, name+"-dataset", args.dataset(), dataset, pulumi.Parent(d), keep); err != nil {
		return nil, err
	}
	d.share, d.made = dataset, []pulumi.Resource{dataset}
	if args.NFS != nil {
		share := &trueNASObject{}
		// Deleting a dataset deletes its share, so the share is deleted first, and created again with another dataset.
		with := []pulumi.ResourceOption{pulumi.Parent(d), pulumi.DependsOn([]pulumi.Resource{dataset}), pulumi.ReplaceWith([]pulumi.Resource{dataset}), keep}
		if err := ctx.RegisterResource(tokenShare, name+"-nfs", args.nfs(d.Path), share, with...); err != nil {
			return nil, err
		}
		d.share, d.made = share, append(d.made, share)
	}
	return d, ctx.RegisterResourceOutputs(d, pulumi.Map{"path": pulumi.String(d.Path)})
}

func (args *TrueNASDatasetArgs) validate() error {
	if args == nil {
		return errors.New("args: give TrueNASDatasetArgs")
	}
	return errors.Join(
		require(args.Name != "", "Name", "name the dataset with its pool"),
		require(args.Owner != "", "Owner", "name the stack that creates it"),
		require(args.ShareType != "", "ShareType", "give GENERIC, NFS or MULTIPROTOCOL"),
		require(args.QuotaGiB >= 0, "QuotaGiB", "give 1 or more, or 0 for none"),
		require(args.RefQuotaGiB >= 0, "RefQuotaGiB", "give 1 or more, or 0 for none"),
		require(args.NFS == nil || len(args.NFS.Networks) > 0, "NFS.Networks", "give at least one"),
	)
}

const bytesPerGiB = 1 << 30

// dataset returns the inputs: what is not given is absent, and so inherited.
func (args *TrueNASDatasetArgs) dataset() pulumi.Map {
	inputs := pulumi.Map{"name": pulumi.String(args.Name), "shareType": pulumi.String(args.ShareType), "owner": pulumi.String(args.Owner)}
	if args.QuotaGiB > 0 {
		inputs["quota"] = pulumi.Float64(float64(args.QuotaGiB) * bytesPerGiB)
	}
	if args.RefQuotaGiB > 0 {
		inputs["refquota"] = pulumi.Float64(float64(args.RefQuotaGiB) * bytesPerGiB)
	}
	if args.Compression != "" {
		inputs["compression"] = pulumi.String(args.Compression)
	}
	if args.RecordSize != "" {
		inputs["recordSize"] = pulumi.String(args.RecordSize)
	}
	return inputs
}

func (args *TrueNASDatasetArgs) nfs(path string) pulumi.Map {
	networks := make([]string, len(args.NFS.Networks))
	for i, network := range args.NFS.Networks {
		networks[i] = network.String()
	}
	inputs := pulumi.Map{
		"path": pulumi.String(path), "networks": pulumi.ToStringArray(networks), "enabled": pulumi.Bool(true), "owner": pulumi.String(args.Owner),
	}
	if args.NFS.MapRootUser != "" {
		inputs["mapRootUser"] = pulumi.String(args.NFS.MapRootUser)
	}
	if args.NFS.ReadOnly {
		inputs["readOnly"] = pulumi.Bool(true)
	}
	return inputs
}
