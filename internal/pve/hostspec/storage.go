package hostspec

import (
	"encoding/json"
	"strings"
)

// Storage is what a stack wants of a storage of the cluster. Settings that are empty stay as they are. Its password is passed apart from it.
type Storage struct {
	// Name is the ID in Proxmox VE.
	Name string `json:"name"`
	// Type is one of dir, nfs, cifs, lvmthin, zfspool and pbs.
	Type string `json:"type"`
	// Content are the content types.
	Content []string `json:"content"`
	// Hosts that have it. Empty means all for a new storage, and no change for an existing one.
	Hosts []string `json:"hosts,omitempty"`
	// Path is the folder of a dir, and Shared whether it is the same on all hosts.
	Path   string `json:"path,omitempty"`
	Shared bool   `json:"shared,omitempty"`
	// Server of NFS, CIFS or backups; Export of NFS, Share of CIFS, Datastore of backups.
	Server    string `json:"server,omitempty"`
	Export    string `json:"export,omitempty"`
	Share     string `json:"share,omitempty"`
	Datastore string `json:"datastore,omitempty"`
	// Options of the mount.
	Options string `json:"options,omitempty"`
	// Username for the server, and its Domain.
	Username string `json:"username,omitempty"`
	Domain   string `json:"domain,omitempty"`
	// Namespace in the datastore, and the Fingerprint of its server.
	Namespace   string `json:"namespace,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// VolumeGroup and ThinPool of LVM.
	VolumeGroup string `json:"volumeGroup,omitempty"`
	ThinPool    string `json:"thinPool,omitempty"`
	// ZFSPool is a pool or dataset of ZFS, and Sparse whether its volumes reserve no space.
	ZFSPool string `json:"zfsPool,omitempty"`
	Sparse  bool   `json:"sparse,omitempty"`
}

// ParseStorage reads a storage from the form of [Storage.Text].
func ParseStorage(text string) (s Storage, err error) {
	return s, json.Unmarshal([]byte(text), &s)
}

// Text returns the storage as JSON.
func (s Storage) Text() string { return text(s) }

// Fixed returns the settings that Proxmox VE never changes, in a fixed order (pve-storage, the functions options of the plugins).
func (s Storage) Fixed() []Setting {
	return withValues([]Setting{
		{"type", s.Type}, {"path", s.Path}, {"server", s.Server}, {"export", s.Export}, {"share", s.Share}, {"datastore", s.Datastore},
		{"vgname", s.VolumeGroup}, {"thinpool", s.ThinPool}, {"pool", s.ZFSPool},
	})
}

// Changeable returns the settings that a PUT may change, in a fixed order.
func (s Storage) Changeable() []Setting {
	return withValues([]Setting{
		{"content", strings.Join(s.Content, ",")}, {"nodes", strings.Join(s.Hosts, ",")}, {"shared", flag(s.Shared)}, {"options", s.Options},
		{"username", s.Username}, {"domain", s.Domain}, {"namespace", s.Namespace}, {"fingerprint", s.Fingerprint}, {"sparse", flag(s.Sparse)},
	})
}
