package storage

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Request is a request for a new volume.
type Request struct {
	Node string
	VMID int
	// Content is RootDir for the volume of a container, or "" for a VM's.
	Content string
	// Format is the image format, or "" for the storage's own.
	Format string
	// Name is a fixed name such as "vm-101-cloudinit", without extension, or "" for the next free disk name.
	Name     string
	Bytes    uint64
	Identity string
	Created  int64
}

// Subvolume is the format of a file system that a container has on ZFS.
const Subvolume = "subvol"

// format returns the format of a requested volume: a container has a file system on ZFS, elsewhere an image (pve-container
// LXC.pm, alloc_disk).
func (t Type) format(r Request) string {
	switch {
	case r.Format != "":
		return r.Format
	case r.Content == RootDir && t == ZFSPool:
		return Subvolume
	default:
		return "raw"
	}
}

// Allocate creates a blank volume. It returns Proxmox VE's error if the format is not supported, the name is in use or there
// is not enough space.
func (s *Storage) Allocate(r Request) (*Volume, error) {
	p, err := s.pool(r.Node)
	if err != nil {
		return nil, err
	}

	r.Format = s.Type.format(r)

	if !s.Type.FileBased() && r.Format != "raw" && r.Format != Subvolume {
		return nil, fmt.Errorf("unsupported format '%s'", r.Format)
	}

	name := r.Name
	if name == "" {
		name = s.nextName(p, r.VMID, r.Format)
	}

	r.Bytes = s.Type.aligned(r.Bytes)
	v := &Volume{
		ID: s.volumeID(r.VMID, name, r.Format), VMID: r.VMID, Content: cmp.Or(r.Content, Images), Format: r.Format,
		Size: r.Bytes, Identity: r.Identity, Created: r.Created,
	}

	if _, taken := p.Volumes[v.ID]; taken {
		return nil, fmt.Errorf("disk image '%s' already exists", s.FilePath(v))
	}

	if r.Format != Subvolume && !s.hasRoom(p, r.Bytes) {
		return nil, fmt.Errorf("zfs error: cannot create '%s/%s': out of space", s.ID, name)
	}

	p.Volumes[v.ID] = v

	return v, nil
}

// hasRoom reports whether a volume may grow by bytes. A thin volume always may.
func (s *Storage) hasRoom(p *pool, bytes uint64) bool {
	return s.Type.thin() || bytes <= p.Total-min(p.used(s.Type), p.Total)
}

func (s *Storage) volumeID(vmid int, name, format string) string {
	if s.Type.FileBased() {
		return fmt.Sprintf("%s:%d/%s.%s", s.ID, vmid, name, format)
	}

	return s.ID + ":" + name
}

var diskNumber = regexp.MustCompile(`(?:vm|base|subvol)-(\d+)-disk-(\d+)(?:\.\w+)?$`)

// nextName returns the name with the lowest free disk number (pve-storage Plugin.pm, get_next_vm_diskname).
func (s *Storage) nextName(p *pool, vmid int, format string) string {
	taken := map[int]bool{}

	for id := range p.Volumes {
		match := diskNumber.FindStringSubmatch(id)
		if match == nil || match[1] != strconv.Itoa(vmid) ||
			s.Type.FileBased() && !strings.HasSuffix(id, "."+format) {
			continue
		}

		if n, err := strconv.Atoi(match[2]); err == nil {
			taken[n] = true
		}
	}

	n := 0
	for taken[n] {
		n++
	}

	if format == Subvolume {
		return fmt.Sprintf("subvol-%d-disk-%d", vmid, n)
	}

	return fmt.Sprintf("vm-%d-disk-%d", vmid, n)
}

// Copy creates a full copy of a volume, which may be on another storage. A copy of a file that was imported contains its system.
func (s *Storage) Copy(source *Volume, r Request) (*Volume, error) {
	r.Bytes = source.Size
	if source.Content == RootDir {
		r.Content = RootDir
	}

	v, err := s.Allocate(r)
	if err != nil {
		return nil, err
	}

	v.Used, v.Origin = source.Used, source.Origin
	if source.Content == Import {
		v.Origin = path.Base(source.ID)
	}

	return v, nil
}

// Link creates a linked clone of a base volume of this storage.
func (s *Storage) Link(source *Volume, r Request) (*Volume, error) {
	p, err := s.pool(r.Node)
	if err != nil {
		return nil, err
	}

	if !source.Base() {
		return nil, fmt.Errorf("clone_image only works on base images")
	}

	name := s.nextName(p, r.VMID, source.Format)
	base := source.ID[strings.Index(source.ID, ":")+1:]
	own := s.volumeID(r.VMID, name, source.Format)

	v := &Volume{
		ID: s.ID + ":" + base + "/" + own[strings.Index(own, ":")+1:], VMID: r.VMID, Content: Images,
		Format: source.Format, Size: source.Size, Parent: source.ID, Origin: source.Origin,
		Identity: r.Identity, Created: r.Created,
	}
	p.Volumes[v.ID] = v

	return v, nil
}

// MakeBase turns a volume into the base volume of a template and returns its new ID.
func (s *Storage) MakeBase(node, id string) (string, error) {
	p, err := s.pool(node)
	if err != nil {
		return "", err
	}

	v, ok := p.Volumes[id]
	if !ok {
		return "", fmt.Errorf("volume '%s' does not exist", id)
	}

	if v.Base() {
		return id, nil
	}

	dir, name := path.Split(id[strings.Index(id, ":")+1:])

	delete(p.Volumes, id)
	v.ID = s.ID + ":" + dir + strings.Replace(name, "vm-", "base-", 1)
	p.Volumes[v.ID] = v

	return v.ID, nil
}

// Free removes a volume if it exists. A base volume with linked clones stays.
func (s *Storage) Free(node, id string) error {
	p, err := s.pool(node)
	if err != nil {
		return err
	}

	for _, other := range p.Volumes {
		if other.Parent == id {
			return fmt.Errorf("base volume '%s' is still in use by linked clones", id[strings.Index(id, ":")+1:])
		}
	}

	delete(p.Volumes, id)

	return nil
}

// Resize grows a volume.
func (s *Storage) Resize(node, id string, bytes uint64) error {
	p, err := s.pool(node)
	if err != nil {
		return err
	}

	v, ok := p.Volumes[id]
	if !ok {
		return fmt.Errorf("volume '%s' does not exist", id)
	}

	bytes = s.Type.aligned(bytes)
	if v.Format != Subvolume && !s.hasRoom(p, bytes-v.Size) {
		return fmt.Errorf("zfs error: cannot set property for '%s/%s': size is greater than available space",
			s.ID, strings.TrimPrefix(v.ID, s.ID+":"))
	}

	v.Size = bytes

	return nil
}

// Owned returns the volumes of a VM or container on a node.
func (s *Storage) Owned(node string, vmid int) []*Volume {
	volumes, err := s.Volumes(node)
	if err != nil {
		return nil
	}

	return slices.DeleteFunc(volumes, func(v *Volume) bool { return v.VMID != vmid })
}

// MoveNode moves a VM's local volume to another node's pool, as an offline migration does.
func (s *Storage) MoveNode(from, to, id string) error {
	source, err := s.pool(from)
	if err != nil {
		return err
	}

	target, err := s.pool(to)
	if err != nil {
		return err
	}

	v, ok := source.Volumes[id]
	if !ok {
		return fmt.Errorf("volume '%s' does not exist", id)
	}

	if source != target && !s.hasRoom(target, v.Size) {
		return fmt.Errorf("zfs error: cannot receive new filesystem stream: out of space")
	}

	delete(source.Volumes, id)
	target.Volumes[id] = v

	return nil
}
