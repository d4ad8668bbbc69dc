package storage

import (
	"cmp"
	"fmt"
)

// File is a file that a storage receives.
type File struct {
	// Content is ISO, Template or Import.
	Content string
	Name    string
	// Format is "iso", that of a template's compression such as "tzst", or that of a disk image.
	Format string
	// Bytes is the length of the file, Virtual the size of the disk in an image; 0 means Bytes.
	Bytes, Virtual uint64
	Identity       string
	Created        int64
	// Origin is the name of the file that it stands in for, "" for one that was downloaded.
	Origin string
	// Checksums of the file, by algorithm.
	Checksums map[string]string
}

// Put stores a file. It returns an error if there is not enough space.
func (s *Storage) Put(node string, f File) (*Volume, error) {
	p, err := s.pool(node)
	if err != nil {
		return nil, err
	}

	if f.Bytes > p.Total-min(p.used(s.Type), p.Total) {
		return nil, fmt.Errorf("write error: No space left on device")
	}

	v := &Volume{
		ID: s.ID + ":" + f.Content + "/" + f.Name, Content: f.Content, Format: f.Format, Size: cmp.Or(f.Virtual, f.Bytes),
		Used: f.Bytes, Identity: f.Identity, Created: f.Created, Checksums: f.Checksums, Origin: f.Origin,
	}
	p.Volumes[v.ID] = v

	return v, nil
}
