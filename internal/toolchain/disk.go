package toolchain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/diskspace"
)

// ErrNoSpace means that a disk has not enough space for a build.
var ErrNoSpace = errors.New("no space")

// share is the disk space that the builds need in one folder.
type share struct {
	dir   string
	bytes int64
}

// shares returns the folders that the builds write to. A tool that was built before finds its modules and packages in Go's caches.
// It needs little more than the space of its binary, which exists twice until the linker is done.
func (in *installer) shares(g goCommand, todo []*wanted) []share {
	binaries, packages, modules := share{dir: in.cache}, share{dir: g.buildCache}, share{dir: g.moduleCache}
	for _, w := range todo {
		binaries.bytes += 2 * w.bin
		if in.isFirst(w) {
			packages.bytes += w.buildCache
			modules.bytes += w.moduleCache
		}
	}
	return []share{binaries, packages, modules}
}

// checkSpace refuses builds that would fill a disk.
func (in *installer) checkSpace(g goCommand, todo []*wanted) error {
	var disks []share // one per file system, named by the first of its folders
	var devices []string
	for _, s := range in.shares(g, todo) {
		device, err := diskspace.Disk(s.dir)
		if err != nil {
			return fmt.Errorf("look for space in %s: %w", s.dir, err)
		}
		known := false
		for i := range devices {
			if devices[i] == device {
				disks[i].bytes += s.bytes
				known = true
			}
		}
		if !known {
			disks, devices = append(disks, s), append(devices, device)
		}
	}
	for _, disk := range disks {
		free, err := in.seams.freeSpace(disk.dir)
		if err != nil {
			return fmt.Errorf("look for space in %s: %w", disk.dir, err)
		}
		if free < disk.bytes {
			return fmt.Errorf("%w to build %s: the disk of %s has %s free, and %s are needed: free some (df -h %s), or "+
				"set EM_INFRA_CACHE, GOCACHE and GOMODCACHE to folders on another disk",
				ErrNoSpace, names(todo), disk.dir, size(free), size(disk.bytes), disk.dir)
		}
	}
	return nil
}

// spaceRanOut returns the error of a disk that became full during a build.
func (in *installer) spaceRanOut(g goCommand, w *wanted) error {
	var free []string
	for _, s := range in.shares(g, []*wanted{w}) {
		bytes, err := in.seams.freeSpace(s.dir)
		if err != nil {
			return errors.Join(fmt.Errorf("%w left to build %s", ErrNoSpace, w.name), err)
		}
		free = append(free, fmt.Sprintf("%s has %s free", s.dir, size(bytes)))
	}
	return fmt.Errorf("%w left to build %s (%s): free some (df -h), or set EM_INFRA_CACHE, GOCACHE and GOMODCACHE to "+
		"folders on another disk; what was built stays", ErrNoSpace, w.name, strings.Join(free, ", "))
}

func names(tools []*wanted) string {
	list := make([]string, len(tools))
	for i, w := range tools {
		list[i] = w.name
	}
	return strings.Join(list, ", ")
}

// size returns bytes in a readable unit.
func size(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%d MiB", bytes/mebibyte)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}
