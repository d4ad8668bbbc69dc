package pve

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"
)

// ISO is an image on a storage of one host.
type ISO struct {
	// Host of the storage.
	Host string `json:"host"`
	// Volume is its ID in Proxmox VE, e.g. local:iso/talos-v1.12.4-nocloud-376567988ad37013-amd64.iso.
	Volume string `json:"volume"`
}

func (i ISO) split() (storage, file string, err error) {
	storage, path, _ := strings.Cut(i.Volume, ":")
	file, isISO := strings.CutPrefix(path, "iso/")
	if storage == "" || !isISO || file == "" || strings.Contains(file, "/") {
		return "", "", fmt.Errorf("%q is no volume of an ISO: give STORAGE:iso/FILE", i.Volume)
	}
	return storage, file, nil
}

// HasISO reports whether a storage has an ISO of that name and the token may see it.
func (r Reader) HasISO(ctx context.Context, iso ISO) (bool, error) {
	storage, _, err := iso.split()
	if err != nil {
		return false, err
	}
	volumes, err := r.Volumes(ctx, iso.Host, storage)
	if err != nil {
		return false, fmt.Errorf("what storage %s of %s holds cannot be read (%w): see that it is there and active, then run up again", storage, iso.Host, err)
	}
	return slices.ContainsFunc(volumes, func(volume Volume) bool { return volume.ID == iso.Volume }), nil
}

const (
	downloadInterval = 500 * time.Millisecond
	// downloadTimeout is enough for an ISO of 300 MB on a line of 1.5 Mbit/s.
	downloadTimeout = 30 * time.Minute
)

// EnsureISO makes the host download an ISO unless it exists. A file of that name is the right image: its name contains
// schematic, version and architecture. None is ever overwritten or deleted, since the drive of a running machine may contain it
// (F16).
func (c Connection) EnsureISO(ctx context.Context, iso ISO, location string) (downloaded bool, err error) {
	client, err := c.Client()
	if err != nil {
		return false, err
	}
	reader := Reader{client}
	there, err := reader.HasISO(ctx, iso)
	if err != nil || there {
		return false, err
	}
	if err := reader.download(ctx, iso, location); err != nil {
		// Another template may have downloaded it in the meantime, on another host with the same storage.
		if there, lost := reader.HasISO(ctx, iso); lost == nil && there {
			return false, nil
		}
		return false, fmt.Errorf("%s cannot download %s to %s (%w): mend that, then run up again", iso.Host, location, iso.Volume, err)
	}
	return true, nil
}

// download checks the URL first, as Proxmox VE's own interface does: that check reports the cause of an error, while the
// download itself reports only wget's exit code.
func (r Reader) download(ctx context.Context, iso ISO, location string) error {
	storage, file, err := iso.split()
	if err != nil {
		return err
	}
	var answer struct{}
	if err := r.get(ctx, &answer, nodePath(iso.Host, "query-url-metadata"), "url", location); err != nil {
		return err
	}
	var upid proxmox.UPID
	body := map[string]string{"content": "iso", "filename": file, "url": location}
	if err := r.client.Post(ctx, nodePath(iso.Host, "storage/"+url.PathEscape(storage)+"/download-url"), body, &upid); err != nil {
		return withoutURL(err)
	}
	task := proxmox.NewTask(upid, r.client)
	if err := task.Wait(ctx, downloadInterval, downloadTimeout); err != nil {
		return fmt.Errorf("its task %s: %w", upid, withoutURL(err))
	}
	if hasFailed(task) {
		return errors.New(task.ExitStatus)
	}
	return nil
}
