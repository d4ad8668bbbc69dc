package cluster

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// ofRoot are the settings that only root may give (pve-manager API2/Backup.pm, assert_param_permission_common).
var ofRoot = []string{"tmpdir", "dumpdir", "script", "job-id"}

// mayCreateJob checks what a call needs beside Sys.Modify (assert_param_permission_create, and the pool in create_job).
func (s *Service) mayCreateJob(identity string, params schema.Params) error {
	if identity != access.Root {
		if err := s.mayGive(identity, params, nil); err != nil {
			return err
		}

		if storage := storageOf(params.Get("dumpdir"), params.Get("storage")); storage != "" {
			if err := s.parts.Users.Check(identity, "/storage/"+storage, false, "Datastore.Allocate"); err != nil {
				return err
			}
		}
	}

	return s.mayUsePool(identity, params.Get("pool"))
}

// storageOf returns where a job puts its backups; "" for a folder (pve-manager VZDump.pm, get_storage_param).
func storageOf(folder, storage string) string {
	switch {
	case folder != "":
		return ""
	case storage == "":
		return "local"
	default:
		return storage
	}
}

// mayGive checks the settings that need a right of their own. Sys.Modify on / is needed for the call already.
func (s *Service) mayGive(identity string, params schema.Params, deleted []string) error {
	given := map[string]bool{}
	for _, name := range append(params.Names(), deleted...) {
		given[name] = true
	}

	for _, name := range ofRoot {
		if given[name] {
			return schema.BadParam(name, "Only root may set this option.")
		}
	}

	fleecing, err := schema.ParseProperties(s.backupParameters()["fleecing"].Fields(), params.Get("fleecing"))
	if err != nil || fleecing["storage"] == "" {
		return err
	}

	return s.parts.Users.Check(identity, "/storage/"+fleecing["storage"], false, "Datastore.AllocateSpace")
}

func (s *Service) mayUsePool(identity, pool string) error {
	if pool == "" {
		return nil
	}

	if _, ok := s.parts.Users.Pool(pool); !ok {
		return &access.Refusal{Detail: fmt.Sprintf("pool '%s' does not exist", pool)}
	}

	return s.parts.Users.Check(identity, "/pool/"+pool, false, "VM.Backup")
}

// mayUpdateJob checks the call alone (assert_param_permission_update without a job, and the pool in update_job).
func (s *Service) mayUpdateJob(identity string, params schema.Params, deleted []string) error {
	if identity != access.Root {
		if err := s.mayGive(identity, params, deleted); err != nil {
			return err
		}

		storage := params.Get("storage")
		for _, name := range deleted {
			if name == "storage" && storage == "" {
				storage = "local"
			}
		}

		if storage != "" {
			if err := s.parts.Users.Check(identity, "/storage/"+storage, false, "Datastore.Allocate"); err != nil {
				return err
			}
		}
	}

	return s.mayUsePool(identity, params.Get("pool"))
}

// mayTouchJob checks the job that is changed (assert_param_permission_update with a job).
func (s *Service) mayTouchJob(identity string, job backupJob) error {
	if identity == access.Root {
		return nil
	}

	storage := storageOf(job.Settings["dumpdir"], job.Settings["storage"])
	if storage != "" {
		return s.parts.Users.Check(identity, "/storage/"+storage, false, "Datastore.Allocate")
	}

	line := 85
	if s.env.Release == schema.Release84 {
		line = 84
	}

	return fmt.Errorf("only root@pam may edit jobs with a 'dumpdir' option. at /usr/share/perl5/PVE/API2/Backup.pm line %d.", line)
}

// allDays is the value of the days of older clients if there is no restriction.
const allDays = "mon,tue,wed,thu,fri,sat,sun"

// scheduled replaces the start time and the days of older clients by a schedule (pve-manager API2/Backup.pm, schedule_param_check).
func scheduled(params schema.Params, required bool) (schema.Params, error) {
	start, days := params.Get("starttime"), strings.Join(params.List("dow"), ",")
	rest := params.Without("starttime", "dow")

	switch {
	case params.Has("schedule") && start != "":
		return nil, schema.BadParam("starttime", "'starttime' and 'schedule' cannot both be set")
	case params.Has("schedule"):
		return rest, nil
	case start == "" && required:
		return nil, schema.BadParam("schedule", "neither 'starttime' nor 'schedule' were set")
	case start == "":
		return rest, nil
	}

	schedule := start
	if days != "" && days != allDays {
		schedule = days + " " + start
	}

	rest["schedule"] = schema.Scalar(schedule)

	return rest, nil
}

// verifyJob checks settings against one another, and sets what one implies (pve-manager VZDump.pm, verify_vzdump_parameters).
func verifyJob(settings map[string]string, complete bool) error {
	on := func(name string) bool { return settings[name] != "" && settings[name] != "0" }

	for _, name := range []string{"all", "exclude", "pool"} {
		if on(name) && on("vmid") {
			return schema.BadParam(name, "option conflicts with option 'vmid'")
		}
	}

	if err := verifyTemplate(settings["notes-template"]); err != nil {
		return schema.BadParam("notes-template", "%s\n", err)
	}

	if settings["exclude"] != "" && !on("pool") {
		settings["all"] = "1"
	}

	if complete && !on("all") && !on("stop") && !on("pool") && !on("vmid") {
		return schema.BadParam("vmid", "property is missing")
	}

	return nil
}

var (
	templateEscape   = regexp.MustCompile(`\\(.)`)
	templateVariable = regexp.MustCompile(`\{\{([^\s{}]+)\}\}`)
	knownVariable    = regexp.MustCompile(`^(?:cluster|guestname|node|vmid)$`)
)

// verifyTemplate checks the template of notes (pve-manager VZDump.pm, verify_notes_template). Positions are counted as in Perl.
func verifyTemplate(template string) error {
	if strings.Contains(template, "\n") {
		return fmt.Errorf("contains a line feed")
	}

	var unknown []string

	for _, at := range templateEscape.FindAllStringSubmatchIndex(template, -1) {
		if char := template[at[2]:at[3]]; char != "n" && char != `\` {
			unknown = append(unknown, fmt.Sprintf(`escape sequence '\%s' at char %d`, char, at[1]-2))
		}
	}

	for _, at := range templateVariable.FindAllStringSubmatchIndex(template, -1) {
		if name := template[at[2]:at[3]]; !knownVariable.MatchString(name) {
			unknown = append(unknown, fmt.Sprintf("variable '%s' at char %d", name, at[1]-len(name)))
		}
	}

	if len(unknown) > 0 {
		return fmt.Errorf("found unknown: %s", strings.Join(unknown, ", "))
	}

	return nil
}
