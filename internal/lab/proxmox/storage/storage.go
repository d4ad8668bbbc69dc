// Package storage has the volumes of an emulated host: names, owners and sizes, and the free space. It stores no content.
package storage

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Type is a storage plugin of Proxmox VE.
type Type string

// The plugins that the lab emulates.
const (
	Dir     Type = "dir"
	NFS     Type = "nfs"
	ZFSPool Type = "zfspool"
	LVMThin Type = "lvmthin"
	RBD     Type = "rbd"
	CIFS    Type = "cifs"
	PBS     Type = "pbs"
)

// Content types.
const (
	Images = "images"
	ISO    = "iso"
	// Template is the content of the templates that containers are created from, RootDir that of the containers' volumes.
	Template = "vztmpl"
	RootDir  = "rootdir"
	// Import is the content of the disk images of other systems.
	Import = "import"
	// Backup and Snippets are files that the lab only lists as content types.
	Backup   = "backup"
	Snippets = "snippets"
)

// Known reports whether the lab emulates the plugin.
func (t Type) Known() bool {
	return slices.Contains([]Type{Dir, NFS, ZFSPool, LVMThin, RBD, CIFS, PBS}, t)
}

// FileBased reports whether volumes are files, which have an extension and may be ISO images.
func (t Type) FileBased() bool { return t == Dir || t == NFS || t == CIFS }

// thin reports whether a volume uses space only as it fills. A zvol reserves its size unless the storage is declared sparse
// (pve-storage ZFSPoolPlugin.pm, zfs_create_zvol).
func (t Type) thin() bool { return t != ZFSPool }

// aligned returns the effective size of a volume: whole MiB for a zvol (pve-storage ZFSPoolPlugin.pm, zfs_create_zvol and
// volume_resize), whole extents of LVM's default size for a logical volume.
func (t Type) aligned(bytes uint64) uint64 {
	unit := uint64(1)

	switch t {
	case ZFSPool:
		unit = 1 << 20
	case LVMThin:
		unit = 4 << 20
	}

	return (bytes + unit - 1) / unit * unit
}

// Definition is a storage in storage.cfg.
type Definition struct {
	ID      string   `json:"id"`
	Type    Type     `json:"type"`
	Content []string `json:"content"`
	Shared  bool     `json:"shared"`
	// Nodes have the storage; empty means all nodes.
	Nodes []string `json:"nodes,omitempty"`
	// Path is the folder of a file-based storage.
	Path string `json:"path,omitempty"`
	// Options are the other settings of the plugin, by their names in storage.cfg, which never contains a password.
	Options map[string]string `json:"options,omitempty"`
}

// Holds reports whether the storage accepts a content type.
func (d *Definition) Holds(content string) bool { return slices.Contains(d.Content, content) }

// OnNode reports whether a node has the storage.
func (d *Definition) OnNode(node string) bool {
	return len(d.Nodes) == 0 || slices.Contains(d.Nodes, node)
}

// ContentList returns the content types in Proxmox VE's format.
func (d *Definition) ContentList() string {
	sorted := slices.Clone(d.Content)
	slices.Sort(sorted)

	return strings.Join(sorted, ",")
}

// Volume is one image or file.
type Volume struct {
	// ID is the complete volume ID, "local-zfs:vm-101-disk-0".
	ID string `json:"id"`
	// VMID is the owner, or 0 for a file.
	VMID    int    `json:"vmid,omitempty"`
	Content string `json:"content"`
	Format  string `json:"format"`
	// Size is the virtual size in bytes, Used what has been written.
	Size uint64 `json:"size"`
	Used uint64 `json:"used"`
	// Origin is the name of the imported file whose system the image contains, of the ISO from which it was installed, or of the file that this
	// file stands in for; "" for an image that began blank and for a file that was downloaded.
	Origin string `json:"origin,omitempty"`
	// Parent is the base volume of a linked clone.
	Parent string `json:"parent,omitempty"`
	// Identity distinguishes this volume from earlier volumes of the same name.
	Identity string `json:"identity"`
	// Created is in seconds since 1970.
	Created int64 `json:"created"`
	// Checksums of a downloaded file, by algorithm: the lab does not keep its content.
	Checksums map[string]string `json:"checksums,omitempty"`
	// Snapshots of the volume, oldest first.
	Snapshots []string `json:"snapshots,omitempty"`
}

// Base reports whether the volume belongs to a template and is read-only.
func (v *Volume) Base() bool {
	name := path.Base(v.ID[strings.Index(v.ID, ":")+1:])
	return strings.HasPrefix(name, "base-")
}

// Storage returns the storage that the volume's ID names.
func (v *Volume) Storage() string {
	id, _, _ := strings.Cut(v.ID, ":")
	return id
}

// Imported reports whether the volume's ID is that of a file with the content [Import].
func (v *Volume) Imported() bool {
	_, name, _ := strings.Cut(v.ID, ":")
	return strings.HasPrefix(name, Import+"/")
}

// pool is the space of a storage: one for a shared storage, one on each node for a local one.
type pool struct {
	Total    uint64             `json:"total"`
	Reserved uint64             `json:"reserved"`
	Volumes  map[string]*Volume `json:"volumes"`
}

func (p *pool) used(t Type) uint64 {
	used := p.Reserved

	for _, v := range p.Volumes {
		if t.thin() || v.Parent != "" || v.Content != Images {
			used += v.Used
		} else {
			used += v.Size
		}
	}

	return used
}

// Storage is a storage with its volumes. It is not safe for concurrent use.
type Storage struct {
	Definition
	Pools map[string]*pool `json:"pools"`
}

// New returns an empty storage.
func New(d Definition) *Storage { return &Storage{Definition: d, Pools: map[string]*pool{}} }

// AddRoom adds space to the storage on a node: total bytes, of which reserved are used by files that the lab does not manage.
// A shared storage has the same space on every node.
func (s *Storage) AddRoom(node string, total, reserved uint64) {
	s.Pools[s.poolName(node)] = &pool{Total: total, Reserved: reserved, Volumes: map[string]*Volume{}}
}

func (s *Storage) poolName(node string) string {
	if s.Shared {
		return ""
	}

	return node
}

func (s *Storage) pool(node string) (*pool, error) {
	p, ok := s.Pools[s.poolName(node)]
	if !ok || !s.OnNode(node) {
		return nil, fmt.Errorf("storage '%s' is not available on node '%s'", s.ID, node)
	}

	return p, nil
}

// Room is the usage of a storage, in bytes.
type Room struct {
	Total, Used, Available uint64
}

// Room returns the usage on a node.
func (s *Storage) Room(node string) (Room, error) {
	p, err := s.pool(node)
	if err != nil {
		return Room{}, err
	}

	used := min(p.used(s.Type), p.Total)

	return Room{Total: p.Total, Used: used, Available: p.Total - used}, nil
}

// Volumes returns the volumes on a node, sorted by ID.
func (s *Storage) Volumes(node string) ([]*Volume, error) {
	p, err := s.pool(node)
	if err != nil {
		return nil, err
	}

	volumes := make([]*Volume, 0, len(p.Volumes))
	for _, v := range p.Volumes {
		volumes = append(volumes, v)
	}

	slices.SortFunc(volumes, func(a, b *Volume) int { return strings.Compare(a.ID, b.ID) })

	return volumes, nil
}

// Find returns a volume of a node.
func (s *Storage) Find(node, id string) (*Volume, bool) {
	p, err := s.pool(node)
	if err != nil {
		return nil, false
	}

	v, ok := p.Volumes[id]

	return v, ok
}

// FolderOf returns the folder of a file-based storage for files of a content type, "" for one of volumes (pve-storage Plugin.pm,
// $vtype_subdirs).
func FolderOf(content string) string {
	return map[string]string{ISO: "template/iso", Template: "template/cache", Import: "import"}[content]
}

// FilePath returns the path of a volume on the node.
func (s *Definition) FilePath(v *Volume) string {
	name := v.ID[strings.Index(v.ID, ":")+1:]

	switch {
	case FolderOf(v.Content) != "":
		return path.Join(s.Path, FolderOf(v.Content), path.Base(name))
	case v.Format == Subvolume:
		return path.Join("/", s.ID, path.Base(name))
	case s.Type.FileBased():
		return path.Join(s.Path, "images", name)
	case s.Type == ZFSPool:
		return path.Join("/dev/zvol", s.ID, path.Base(name))
	default:
		return path.Join("/dev", s.ID, path.Base(name))
	}
}

// Adopt updates space and nodes from the current configuration of the same storage, and adds its content types. Content types that were set
// through the API stay. Volumes stay.
func (s *Storage) Adopt(configured *Storage) {
	s.Path, s.Nodes = configured.Path, configured.Nodes

	for _, content := range configured.Content {
		if !slices.Contains(s.Content, content) {
			s.Content = append(slices.Clone(s.Content), content)
		}
	}

	for name, p := range configured.Pools {
		known, ok := s.Pools[name]
		if !ok {
			s.Pools[name] = p
			continue
		}

		known.Total, known.Reserved = p.Total, p.Reserved
	}
}
