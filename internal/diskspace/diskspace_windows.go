package diskspace

import (
	"golang.org/x/sys/windows"
)

const errUsedUp = windows.ERROR_DISK_FULL

func free(dir string) (int64, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var available uint64
	if err := windows.GetDiskFreeSpaceEx(path, &available, nil, nil); err != nil {
		return 0, err
	}
	return int64(available), nil //nolint:gosec // no disk has so many bytes
}

func disk(dir string) (string, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return "", err
	}
	volume := make([]uint16, windows.MAX_LONG_PATH)
	if err := windows.GetVolumePathName(path, &volume[0], uint32(len(volume))); err != nil {
		return "", err
	}
	return windows.UTF16ToString(volume), nil
}
