package components

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// HostStorage is a storage of Proxmox VE, whose definition all hosts share. One that exists is adopted, and a field that is empty leaves its
// setting as it is. Its data are never touched.
type HostStorage struct {
	// Name is the ID in Proxmox VE. Required. A change makes another storage.
	Name string
	// Type is one of dir, nfs, cifs, lvmthin, zfspool and pbs. Required. A change makes the definition anew, which is refused while machines
	// use the storage.
	Type string
	// Content are the content types: images, rootdir, vztmpl, iso, backup, snippets, import. Required. A change is applied in place.
	Content []string
	// Hosts have the storage. Default: all. A change is applied in place.
	Hosts []string
	// Path is the folder of a dir. Default: none. A change makes the definition anew.
	Path string
	// Shared is whether a folder is the same on all hosts. Default: false. A change is applied in place.
	Shared bool
	// Server of NFS, CIFS or backups; Export of NFS, Share of CIFS, Datastore of backups. Default: none. A change makes the definition anew.
	Server, Export, Share, Datastore string
	// Options of the mount. Default: none. A change holds from the next mount.
	Options string
	// Username for the server, with its Domain for CIFS. Default: none. A change is applied in place.
	Username, Domain string
	// Password of the user. Default: none. Secret. A change is applied in place.
	Password pulumi.StringInput
	// Namespace in the datastore, and the Fingerprint of the certificate of its server. Default: none. A change is applied in place.
	Namespace, Fingerprint string
	// VolumeGroup and ThinPool of LVM. Default: none. A change makes the definition anew.
	VolumeGroup, ThinPool string
	// ZFSPool is a pool or dataset of ZFS. Default: none. A change makes the definition anew.
	ZFSPool string
	// Sparse is whether volumes of ZFS reserve no space. Default: false. A change holds for new volumes.
	Sparse bool
}

// newHostStorage registers the Command that defines a storage.
func newHostStorage(ctx *pulumi.Context, name string, storage HostStorage, api ProxmoxAPI, opts ...pulumi.ResourceOption) (*local.Command, error) {
	wanted := storage.Spec()
	return hostDefinition{
		noun: "storage", id: wanted.Name, fixed: wanted.Fixed(), variable: "EM_INFRA_HOST_STORAGE", text: wanted.Text(),
		secretVariable: "EM_INFRA_HOST_STORAGE_PASSWORD", secret: storage.Password,
	}.register(ctx, name, api, opts...)
}

// HostStorageName returns the logical name of a storage.
func HostStorageName(name, storage string) string { return name + "-storage-" + storage }

// Spec returns the storage in the form that the tool reads, without the password.
func (s HostStorage) Spec() hostspec.Storage {
	return hostspec.Storage{
		Name: s.Name, Type: s.Type, Content: s.Content, Hosts: s.Hosts, Path: s.Path, Shared: s.Shared, Server: s.Server, Export: s.Export,
		Share: s.Share, Datastore: s.Datastore, Options: s.Options, Username: s.Username, Domain: s.Domain, Namespace: s.Namespace,
		Fingerprint: s.Fingerprint, VolumeGroup: s.VolumeGroup, ThinPool: s.ThinPool, ZFSPool: s.ZFSPool, Sparse: s.Sparse,
	}
}

// storageTypes are the types of storages that can be made.
var storageTypes = []string{"dir", "nfs", "cifs", "lvmthin", "zfspool", "pbs"}

func (s HostStorage) validate(at string) error {
	problems := []error{
		require(s.Name != "", at+".Name", "name the storage"),
		requireName(limits.Storage, s.Name, at+".Name"),
		require(slices.Contains(storageTypes, s.Type), at+".Type", fmt.Sprintf("%q: choose one of %v", s.Type, storageTypes)),
		require(len(s.Content) > 0, at+".Content", "name one content type at least"),
		require(s.Password == nil || s.Username != "", at+".Username", "name the user of the password"),
	}
	return errors.Join(problems...)
}
