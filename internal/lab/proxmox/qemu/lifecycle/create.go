// Package lifecycle creates VMs and templates, and destroys them (qemu-server API2/Qemu.pm: create_vm, template, destroy_vm).
// It is stateless. Each operation holds the lock file of the configuration.
package lifecycle

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/disks"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// creation is a VM that is being created.
type creation struct {
	call    *api.Call
	pool    string
	storage string
	start   bool
	conf    *vmconfig.Config
	drives  []*vmconfig.Drive
}

// qemuVersion returns the release's version of QEMU, for the "meta" setting.
func (s *Service) qemuVersion() string {
	if s.env.Release == schema.Release84 {
		return "9.2.0"
	}

	return "10.1.2"
}

// createVM handles POST /nodes/{node}/qemu (API2/Qemu.pm, create_vm).
func (s *Service) createVM(c *api.Call) (any, error) {
	if c.Params.Has("archive") {
		return nil, errors.New("restoring backups is not emulated")
	}

	creation, err := s.planCreation(c)
	if err != nil {
		return nil, err
	}

	vmid := creation.call.Params.Int("vmid", 0)
	if err := s.reserve(c, vmid); err != nil {
		return nil, fmt.Errorf("unable to create VM %d - %w", vmid, err)
	}

	return s.env.Tasks.Fork(c.Node, "qmcreate", strconv.Itoa(vmid), c.Identity, vmid, func(w *task.Worker) error {
		return s.create(w, creation, vmid)
	})
}

// planCreation runs every check that Proxmox VE runs before it starts a worker.
func (s *Service) planCreation(c *api.Call) (*creation, error) {
	p := &creation{
		call: c, pool: c.Params.Get("pool"), storage: c.Params.Get("storage"), start: c.Params.Bool("start", false),
	}
	vmid := c.Params.Int("vmid", 0)
	given := settings.ResolveCDROM(c.Params.Without(
		"node", "vmid", "pool", "storage", "start", "archive", "force", "unique", "bwlimit", "live-restore",
		"import-working-storage", "ha-managed"))

	if err := s.checkCreate(p, vmid); err != nil {
		return nil, err
	}

	if err := s.planDrives(p, vmid, given); err != nil {
		return nil, err
	}

	if err := s.access.CheckSettings(c.Identity, vmid, p.pool, given.Names()); err != nil {
		return nil, err
	}

	for _, name := range given.Names() {
		if err := s.access.CheckDevice(c.Identity, vmid, p.pool, name, given.Get(name)); err != nil {
			return nil, err
		}
	}

	conf, err := s.newConfig(c, vmid, given)
	p.conf = conf

	return p, err
}

func (s *Service) planDrives(p *creation, vmid int, given schema.Params) error {
	drives, err := s.access.CheckDrives(given)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if err := s.access.CheckDriveStorage(p.call.Identity, p.call.Node, vmid, drive, p.storage); err != nil {
			return err
		}
	}

	p.drives = drives

	return nil
}

func (s *Service) checkCreate(p *creation, vmid int) error {
	db, identity := s.permissions, p.call.Identity

	if _, ok := db.Pool(p.pool); p.pool != "" && !ok {
		return &access.Refusal{Detail: fmt.Sprintf("pool '%s' does not exist", p.pool)}
	}

	if p.storage != "" {
		if err := db.Check(identity, "/storage/"+p.storage, false, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}

	if db.CheckVM(identity, vmid, p.pool, false, "VM.Allocate") != nil {
		return &access.Refusal{}
	}

	return nil
}

// newConfig writes the settings, except drives, in normal form.
func (s *Service) newConfig(c *api.Call, vmid int, given schema.Params) (*vmconfig.Config, error) {
	conf := vmconfig.New()

	for _, name := range given.Names() {
		value := given.Get(name)

		switch {
		case vmconfig.IsDrive(name), value == "":
			continue
		case vmconfig.IsNetwork(name):
			card, err := s.access.ParseCard(vmid, name, value)
			if err != nil {
				return nil, err
			}

			value = card.String()
		case name == "tags":
			value = vmconfig.UniqueTags(value)
		case name == "cipassword":
			value = s.access.HashPassword(vmid, value)
		}

		conf.Set(name, value)
	}

	return conf, s.access.CheckBridges(c.Identity, conf.Values)
}

// reserve takes the VMID: from then on the configuration exists and is locked for its creation (pve-guest-common
// AbstractConfig.pm, create_and_lock_config).
func (s *Service) reserve(c *api.Call, vmid int) error {
	conf := vmconfig.New()
	conf.Set("lock", "create")

	if err := s.configs.Reserve(c.Ctx, c.Node, vmid, conf); err != nil {
		return err
	}

	s.statistics.Begin(vmid)

	return nil
}

// create is the worker. It creates the disks and writes the configuration. After an error nothing remains.
func (s *Service) create(w *task.Worker, p *creation, vmid int) error {
	release, err := s.env.Locks.Exclusive(w.Ctx, flock.ConfigFile(vmid), s.env.Pace.Timeout(pace.WorkerLockTimeout))
	if err == nil {
		err = s.build(w, p, vmid)

		release()
	}

	if err != nil {
		s.configs.Delete(vmid)

		return fmt.Errorf("unable to create VM %d - %w", vmid, err)
	}

	if p.start {
		return s.power.StartVM(w, vmid, p.call.Node)
	}

	return nil
}

func (s *Service) build(w *task.Worker, p *creation, vmid int) error {
	maker := s.disks.Maker(disks.Target{
		Node: p.call.Node, VMID: vmid, Template: p.conf.Template(), Config: p.conf, Storage: p.storage,
		Print: w.Print, Worker: w.Info,
	})

	var err error

	for _, drive := range p.drives {
		if err != nil {
			break
		}

		if err = maker.Make(w.Ctx, drive); err == nil {
			p.conf.Set(drive.Key, drive.String())
		}
	}

	if err == nil {
		err = s.env.Wait(w.Ctx, pace.VMCreate)
	}

	if err == nil {
		err = s.complete(p.conf, vmid)
	}

	if err != nil {
		maker.Undo()
		return err
	}

	return s.configs.On(p.call.Node, vmid, func(m *config.VM) error {
		m.Config = p.conf
		s.permissions.JoinPool(vmid, p.pool)
		s.env.Changed()

		return nil
	})
}

// complete adds the settings that Proxmox VE sets for a new VM.
func (s *Service) complete(conf *vmconfig.Config, vmid int) error {
	conf.Set("meta", fmt.Sprintf("creation-qemu=%s,ctime=%d", s.qemuVersion(), s.env.Now().Unix()))

	if conf.Get("boot") == "" {
		conf.Set("boot", conf.DefaultBoot())
	}

	if !conf.Has("smbios1") {
		id, err := s.env.Random.UUID(vmid, "smbios")
		if err != nil {
			return err
		}

		conf.Set("smbios1", "uuid="+id)
	}

	if generation := conf.Get("vmgenid"); generation == "" || generation == "1" {
		id, err := s.env.Random.UUID(vmid, "vmgenid")
		if err != nil {
			return err
		}

		conf.Set("vmgenid", id)
	}

	return nil
}
