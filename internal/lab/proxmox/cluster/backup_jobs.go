package cluster

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/calendar"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const backupEndpoint = "/cluster/backup"

// backupJob is a job of jobs.cfg. Jobs are kept in the order in which they were made, and none runs: the lab makes no backups.
type backupJob struct {
	ID string `json:"id"`
	// Settings by their names; property strings are in their normal form.
	Settings map[string]string `json:"settings"`
	// ExcludePath is the one setting that is a list.
	ExcludePath []string `json:"excludePath,omitempty"`
}

func (j backupJob) clone() backupJob {
	return backupJob{j.ID, maps.Clone(j.Settings), slices.Clone(j.ExcludePath)}
}

// propertyOptions are the settings that are objects in the API (pve-guest-common VZDump/Common.pm, PROPERTY_STRINGS).
var propertyOptions = []string{"fleecing", "performance", "prune-backups"}

// backupParameters are those of a new job.
func (s *Service) backupParameters() map[string]*schema.Property {
	method, _ := s.env.Schema.Method(http.MethodPost, backupEndpoint)
	return method.Parameters
}

// clock returns the time on the host that answers.
func (s *Service) clock() (time.Time, *time.Location, error) {
	zone, err := time.LoadLocation(s.parts.Nodes.Timezone(s.env.Nodes.First()))
	return s.env.Now(), zone, err
}

// listBackupJobs handles GET /cluster/backup (pve-manager API2/Backup.pm, index).
func (s *Service) listBackupJobs(*api.Call) (any, error) {
	now, zone, err := s.clock()
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	list := []map[string]any{}

	for _, job := range s.jobs {
		shown, err := s.shownJob(job)
		if err != nil {
			return nil, err
		}

		event, err := calendar.Parse(strings.TrimSpace(job.Settings["schedule"]))
		if err != nil {
			return nil, err
		}

		if next, found := event.Next(now, zone); found {
			shown["next-run"] = next.Unix()
		}

		list = append(list, shown)
	}

	return list, nil
}

// shownJob returns a job in the format of the API.
func (s *Service) shownJob(job backupJob) (map[string]any, error) {
	parameters := s.backupParameters()
	shown := map[string]any{"id": job.ID, "type": "vzdump"}

	if job.ExcludePath != nil {
		shown["exclude-path"] = slices.Clone(job.ExcludePath)
	}

	for name, text := range job.Settings {
		if slices.Contains(propertyOptions, name) {
			object, err := shownProperties(parameters[name].Fields(), text)
			if err != nil {
				return nil, err
			}

			shown[name] = object

			continue
		}

		shown[name] = shownScalar(parameters[name], text)
	}

	return shown, nil
}

// shownScalar returns a value with its declared type (pve-common SectionConfig.pm, check_value).
func shownScalar(declared *schema.Property, text string) any {
	if declared != nil && (declared.Type == schema.Integer || declared.Type == schema.Boolean) {
		return schema.Params{"n": schema.Scalar(text)}.Int("n", 0)
	}

	return text
}

func (s *Service) findJob(id string) int {
	return slices.IndexFunc(s.jobs, func(j backupJob) bool { return j.ID == id })
}

// getBackupJob handles GET /cluster/backup/{id}.
func (s *Service) getBackupJob(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	at := s.findJob(c.Params.Get("id"))
	if at < 0 {
		return nil, noSuchJob(c.Params.Get("id"))
	}

	return s.shownJob(s.jobs[at])
}

func noSuchJob(id string) error { return schema.BadParam("id", "No such job '%s'", id) }

// createBackupJob handles POST /cluster/backup (pve-manager API2/Backup.pm, create_job). It does not check whether the storage exists or
// takes backups.
func (s *Service) createBackupJob(c *api.Call) (any, error) {
	params := c.Params.Without("id")
	if err := s.mayCreateJob(c.Identity, params); err != nil {
		return nil, err
	}

	params, err := scheduled(params, true)
	if err != nil {
		return nil, err
	}

	if !params.Has("enabled") {
		params["enabled"] = schema.Scalar("1")
	}

	id := c.Params.Get("id")
	if id == "" {
		if id, err = s.env.Random.UUID(0, "backup job"); err != nil {
			return nil, err
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.findJob(id) >= 0 {
		return nil, fmt.Errorf("Job '%s' already exists", id)
	}

	settings, paths, err := s.settingsOf(params)
	if err == nil {
		err = verifyJob(settings, true)
	}

	if err != nil {
		return nil, flattened(err)
	}

	job := backupJob{ID: id, Settings: settings, ExcludePath: paths}
	job.dropEmpty()
	s.jobs = append(s.jobs, job)
	s.env.Changed()

	return nil, nil
}

// dropEmpty removes empty settings, which are not written to the file (pve-common SectionConfig.pm, format_config_line).
func (j backupJob) dropEmpty() {
	maps.DeleteFunc(j.Settings, func(_, value string) bool { return value == "" })
}

// deleteBackupJob handles DELETE /cluster/backup/{id}.
func (s *Service) deleteBackupJob(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	at := s.findJob(c.Params.Get("id"))
	if at < 0 {
		return nil, flattened(noSuchJob(c.Params.Get("id")))
	}

	s.jobs = slices.Delete(s.jobs, at, at+1)
	s.env.Changed()

	return nil, nil
}

// flattened returns what remains of an error that is raised while jobs.cfg is locked: the text of the exception, as a failure of the
// server (pve-manager API2/Backup.pm, die "$@"; pve-common Exception.pm, stringify).
func flattened(err error) error {
	var params *schema.ParamError

	switch {
	case errors.As(err, &params):
		text := fmt.Sprintf("%d %s", http.StatusBadRequest, params)
		for _, name := range slices.Sorted(maps.Keys(params.Errors)) {
			text += fmt.Sprintf("\n%s: %s", name, params.Errors[name])
		}

		return errors.New(text)
	case errors.Is(err, access.ErrPermission):
		return fmt.Errorf("%d %s", http.StatusForbidden, err.Error())
	default:
		return err
	}
}

func (s *Service) backupMethods() []api.Method {
	return []api.Method{
		api.Get(backupEndpoint, s.listBackupJobs),
		api.Post(backupEndpoint, s.createBackupJob),
		api.Get(backupEndpoint+"/{id}", s.getBackupJob),
		api.Put(backupEndpoint+"/{id}", s.updateBackupJob),
		api.Delete(backupEndpoint+"/{id}", s.deleteBackupJob),
	}
}
