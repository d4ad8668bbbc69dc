package cluster

import (
	"errors"
	"maps"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// updateBackupJob handles PUT /cluster/backup/{id} (pve-manager API2/Backup.pm, update_job).
func (s *Service) updateBackupJob(c *api.Call) (any, error) {
	id, deleted := c.Params.Get("id"), c.Params.List("delete")

	params := c.Params.Without("id", "delete")
	if err := s.mayUpdateJob(c.Identity, params, deleted); err != nil {
		return nil, err
	}

	params, err := scheduled(params, false)
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if len(params) == 0 && len(deleted) == 0 {
		return nil, errors.New("no options specified")
	}

	// The call is verified before the job is looked for.
	settings, paths, err := s.settingsOf(params)
	if err == nil {
		err = verifyJob(settings, false)
	}

	if err != nil {
		return nil, flattened(err)
	}

	at := s.findJob(id)
	if at < 0 {
		return nil, errors.New("no such vzdump job")
	}

	job := s.jobs[at].clone()
	if err := s.mayTouchJob(c.Identity, job); err != nil {
		return nil, flattened(err)
	}

	if err := s.changeJob(&job, backupJob{Settings: settings, ExcludePath: paths}, deleted); err != nil {
		return nil, flattened(err)
	}

	s.jobs[at] = job
	s.env.Changed()

	return nil, nil
}

// changeJob deletes settings, sets others, and removes those that the new ones exclude.
func (s *Service) changeJob(job *backupJob, given backupJob, deleted []string) error {
	for _, name := range deleted {
		_, known := s.backupParameters()[name]
		if !known || slices.Contains([]string{"id", "schedule", "starttime", "dow", "enabled"}, name) {
			return schema.BadParam("delete", "unknown option '%s'", name)
		}

		delete(job.Settings, name)

		if name == "exclude-path" {
			job.ExcludePath = nil
		}
	}

	maps.Copy(job.Settings, given.Settings)

	if given.ExcludePath != nil {
		job.ExcludePath = given.ExcludePath
	}

	if job.has("exclude") && !job.has("pool") {
		job.Settings["all"] = "1"
	}

	switch {
	case given.has("vmid"):
		job.unset("all", "exclude", "pool")
	case given.Settings["all"] == "1":
		job.unset("vmid", "pool")
	case job.has("pool"):
		job.unset("vmid", "all", "exclude")
	}

	job.dropEmpty()

	return verifyJob(job.Settings, true)
}

func (j backupJob) has(name string) bool { return j.Settings[name] != "" }

func (j backupJob) unset(names ...string) {
	for _, name := range names {
		delete(j.Settings, name)
	}
}
