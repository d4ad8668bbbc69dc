//go:build unix

package diskspace

import (
	"strconv"

	"golang.org/x/sys/unix"
)

const errUsedUp = unix.ENOSPC

func free(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:gosec,unconvert // the types differ by system
}

func disk(dir string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return "", err
	}
	return strconv.FormatUint(uint64(stat.Dev), 10), nil //nolint:gosec,unconvert // the types differ by system
}
