package hosts

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// backupSchedule has the characters of a calendar event; the host refuses one that it does not understand.
var backupSchedule = regexp.MustCompile(`^[A-Za-z0-9*:,./ ~-]{1,128}$`)

// backupJobs checks the jobs that make backups.
func (c *checker) backupJobs() {
	taken := map[string]*strictyaml.Path{}
	for i, job := range c.inv.File.BackupJobs {
		at := key("backupJobs").Index(i)
		c.name(limits.ConfigID, job.Name, at.Key("name"))
		c.unique(taken, job.Name, at.Key("name"))
		if job.Schedule != "" && !backupSchedule.MatchString(job.Schedule) {
			c.report(at.Key("schedule"), fault{What: "is no calendar event", Rule: "as in Datacenter > Backup", Got: job.Schedule, Do: `write one like "02:30" or "sat 03:00"`})
		}
		c.backupStorage(job, at.Key("storage"))
		c.selection(job, at)
		if job.Host != "" {
			c.hostOfFile(job.Host, at.Key("host"))
		}
		if job.Keep != nil && *job.Keep == (Keep{}) {
			c.report(at.Key("keep"), fault{What: "keeps nothing", Do: "say how many, e.g. {last: 3, daily: 7}, or remove it"})
		}
		c.oneLine(job.Comment, at.Key("comment"))
	}
}

// backupStorage checks the storage if the file describes it.
func (c *checker) backupStorage(job BackupJob, at *strictyaml.Path) {
	c.name(limits.Storage, job.Storage, at)
	known := slices.IndexFunc(c.inv.File.Storages, func(s Storage) bool { return s.Name == job.Storage })
	if known >= 0 && !slices.Contains(c.inv.File.Storages[known].Content, ContentBackup) {
		c.report(at, fault{What: "takes no backups", Rule: "its content has backup", Got: job.Storage, Do: "add backup to " + key("storages").Index(known).Key("content").String() + ", or name another storage"})
	}
}

// selection checks which machines a job is for.
func (c *checker) selection(job BackupJob, at *strictyaml.Path) {
	given := 0
	for _, isGiven := range []bool{job.Pool != "", len(job.VMIDs) > 0, job.All} {
		if isGiven {
			given++
		}
	}
	if given != 1 {
		c.report(at, fault{What: "does not say which machines are backed up", Rule: "one of pool, vmids and all", Do: "give one of the three"})
	}
	if len(job.Exclude) > 0 && !job.All {
		c.report(at.Key("exclude"), fault{What: "has no effect", Rule: "machines are left out of all", Do: "remove it, or write all: true"})
	}
	c.name(limits.Pool, job.Pool, at.Key("pool"))
	c.vmids(job.VMIDs, at.Key("vmids"))
	c.vmids(job.Exclude, at.Key("exclude"))
}

func (c *checker) vmids(vmids []int, at *strictyaml.Path) {
	for i, vmid := range vmids {
		if !limits.VMID.Contains(vmid) {
			c.report(at.Index(i), fault{What: "is no VMID", Rule: limits.VMID.String(), Got: strconv.Itoa(vmid), Do: "correct it"})
		}
		if slices.Index(vmids, vmid) < i {
			c.report(at.Index(i), fault{What: "is given twice", Got: strconv.Itoa(vmid), Do: "remove one of the two"})
		}
	}
}
