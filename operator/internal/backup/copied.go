package backup

import (
	"cmp"
	"slices"

	"github.com/em-infra/em-infra/internal/retention"
)

// Kept is a backup that was kept, and where.
type Kept struct {
	Backup
	// Bucket is the bucket that has a copy of it; empty if the state is in none, or the bucket does not have one.
	Bucket string
	// NotInBucket is why backups are on this machine alone; nil if they are not, or the state is in no bucket.
	NotInBucket error
}

// Copied is a backup and where it is.
type Copied struct {
	Backup
	// Local reports whether it is on this machine.
	Local bool `json:"local"`
	// Bucket reports whether it is in the bucket with the state.
	Bucket bool `json:"bucket"`
}

// Merge returns the backups of a store and of a bucket, newest first, each once.
func Merge(local, remote []Backup) []Copied {
	var all []Copied
	for _, one := range local {
		all = append(all, Copied{Backup: one, Local: true})
	}
	for _, one := range remote {
		at := slices.IndexFunc(all, func(c Copied) bool { return c.Name == one.Name })
		if at < 0 {
			all = append(all, Copied{Backup: one, Bucket: true})
			continue
		}
		all[at].Bucket = true
	}
	slices.SortStableFunc(all, func(a, b Copied) int { return newestFirst(a.Backup, b.Backup) })
	return all
}

// newestFirst compares two backups as their names are.
func newestFirst(a, b Backup) int {
	first, errFirst := retention.Parse(a.Name)
	second, errSecond := retention.Parse(b.Name)
	if errFirst != nil || errSecond != nil {
		return cmp.Or(b.Taken.Compare(a.Taken), cmp.Compare(b.Name, a.Name))
	}
	return retention.NewestFirst(first, second)
}
