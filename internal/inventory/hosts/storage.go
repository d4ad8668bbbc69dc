package hosts

import "github.com/em-infra/em-infra/internal/inventory/manifest"

// Storage is a storage of Proxmox VE. One that exists is adopted: its content types and what is given here are set, and a setting that is left
// out stays as it is. A change of what Proxmox VE never changes (type, path, server, export, share, datastore, volumeGroup, thinPool, zfsPool)
// removes the definition and makes it anew, which is refused while machines have disks on the storage, and for one that was not made here.
type Storage struct {
	// Name of the storage, its ID in Proxmox VE. Required. A change makes another one.
	Name string `yaml:"name" required:"true"`
	// Type of the storage. Required. A change makes its definition anew.
	Type StorageType `yaml:"type" required:"true"`
	// Content is what the storage is for: images are disks of machines, rootdir those of containers, vztmpl their templates, import disk images
	// of other systems. Required. A change is applied in place.
	Content []Content `yaml:"content" required:"true" min:"1" max:"7"`
	// Hosts have the storage. Default: all of the cluster. A change is applied in place.
	Hosts []string `yaml:"hosts" max:"32"`
	// Path is the folder of a storage of the type dir. Default: none. A change makes its definition anew.
	Path string `yaml:"path"`
	// Shared is whether a folder is the same one on all hosts, as with a cluster file system. Default: false, which leaves a storage that exists
	// as it is. A change is applied in place.
	Shared bool `yaml:"shared"`
	// Server is the address or the DNS name of an NFS, CIFS or backup server. Default: none. A change makes its definition anew.
	Server string `yaml:"server"`
	// Export is the path that an NFS server exports, e.g. /mnt/tank/proxmox. Default: none. A change makes its definition anew.
	Export string `yaml:"export"`
	// Options of the mount of NFS or CIFS, e.g. vers=4.2. Default: those of the host. A change is applied at the next mount.
	Options string `yaml:"options"`
	// Share is the name of the share of a CIFS server. Default: none. A change makes its definition anew.
	Share string `yaml:"share"`
	// Username for a CIFS server, or for a backup server, where it is USER@REALM or USER@REALM!TOKEN. Its password is the secret
	// storages.NAME.password of secrets.sops.yaml, or em-infra:storagePassword.NAME of the stack's configuration. Default: none, a guest
	// of a CIFS server. A change is applied in place.
	Username string `yaml:"username"`
	// Domain of the user of a CIFS server. Default: none. A change is applied in place.
	Domain string `yaml:"domain"`
	// Datastore of a backup server. Default: none. A change makes its definition anew.
	Datastore string `yaml:"datastore"`
	// Namespace in the datastore. Default: its root. A change is applied in place.
	Namespace string `yaml:"namespace"`
	// Fingerprint of the certificate of a backup server, SHA-256 with colons. Default: none, the certificate is of an authority that the hosts
	// know. A change is applied in place.
	Fingerprint string `yaml:"fingerprint"`
	// VolumeGroup of LVM that has the thin pool, e.g. pve. Default: none. A change makes its definition anew.
	VolumeGroup string `yaml:"volumeGroup"`
	// ThinPool of LVM, e.g. data. Default: none. A change makes its definition anew.
	ThinPool string `yaml:"thinPool"`
	// ZFSPool is a pool or dataset of ZFS, e.g. rpool/data. It has to exist on the hosts. Default: none. A change makes its definition anew.
	ZFSPool string `yaml:"zfsPool"`
	// Sparse is whether volumes of ZFS reserve no space. Default: false, which leaves a storage that exists as it is. A change holds for new
	// volumes.
	Sparse bool `yaml:"sparse"`
}

// NeedsPassword reports whether a server asks for the password of a user.
func (s Storage) NeedsPassword() bool { return s.Username != "" }

// StorageType is a kind of storage.
type StorageType string

// The types of storages.
const (
	// StorageDir is a folder of a host.
	StorageDir StorageType = "dir"
	// StorageNFS is an export of an NFS server.
	StorageNFS StorageType = "nfs"
	// StorageCIFS is a share of a CIFS server.
	StorageCIFS StorageType = "cifs"
	// StorageLVMThin is a thin pool of LVM.
	StorageLVMThin StorageType = "lvmthin"
	// StorageZFSPool is a pool of ZFS on the host itself.
	StorageZFSPool StorageType = "zfspool"
	// StoragePBS is a datastore of a Proxmox Backup Server.
	StoragePBS StorageType = "pbs"
)

// Choices returns all types.
func (StorageType) Choices() []string {
	return []string{
		string(StorageDir), string(StorageNFS), string(StorageCIFS), string(StorageLVMThin), string(StorageZFSPool), string(StoragePBS),
	}
}

// UnmarshalText reads a type.
func (s *StorageType) UnmarshalText(text []byte) error { return manifest.Choose(s, text) }

// Content is what a storage is for.
type Content string

// The content types.
const (
	ContentImages   Content = "images"
	ContentRootDir  Content = "rootdir"
	ContentTemplate Content = "vztmpl"
	ContentISO      Content = "iso"
	ContentBackup   Content = "backup"
	ContentSnippets Content = "snippets"
	ContentImport   Content = "import"
)

// Choices returns all content types.
func (Content) Choices() []string {
	return []string{
		string(ContentImages), string(ContentRootDir), string(ContentTemplate), string(ContentISO), string(ContentBackup),
		string(ContentSnippets), string(ContentImport),
	}
}

// UnmarshalText reads a content type.
func (c *Content) UnmarshalText(text []byte) error { return manifest.Choose(c, text) }
