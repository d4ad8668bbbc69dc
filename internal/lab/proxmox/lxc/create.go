package lxc

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmlist"
)

// creation is a container that is being created.
type creation struct {
	call     *api.Call
	vmid     int
	pool     string
	storage  string
	template string
	conf     *vmconfig.Config
	mounts   schema.Params
}

// notSettings are the parameters of a creation that are not settings of the container.
var notSettings = []string{
	"node", "vmid", "ostemplate", "password", "storage", "force", "restore", "unique", "pool", "ignore-unpack-errors",
	"ssh-public-keys", "bwlimit", "start", "ha-managed", "unprivileged",
}

// createContainer handles POST /nodes/{node}/lxc (pve-container API2/LXC.pm, create_vm). Password and keys go into the container
// and are kept nowhere.
func (s *Service) createContainer(c *api.Call) (any, error) {
	if c.Params.Bool("restore", false) {
		return nil, errors.New("restoring backups is not emulated")
	}

	p, err := s.planCreation(c)
	if err != nil {
		return nil, err
	}

	if err := s.reserve(p); err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "vzcreate", strconv.Itoa(p.vmid), c.Identity, p.vmid, func(w *task.Worker) error {
		return s.create(w, p)
	})
}

// planCreation runs every check that Proxmox VE runs before it starts a worker.
func (s *Service) planCreation(c *api.Call) (*creation, error) {
	p := &creation{
		call: c, vmid: c.Params.Int("vmid", 0), pool: c.Params.Get("pool"), storage: cmp.Or(c.Params.Get("storage"), "local"),
		template: c.Params.Get("ostemplate"), conf: vmconfig.New(), mounts: schema.Params{},
	}

	unprivileged := c.Params.Bool("unprivileged", true)
	if err := s.checkCreate(p, unprivileged); err != nil {
		return nil, err
	}

	given := c.Params.Without(notSettings...)

	err := s.check(change{
		identity: c.Identity, node: c.Node, vmid: p.vmid, pool: p.pool, unprivileged: unprivileged,
	}, given, nil)
	if err != nil {
		return nil, err
	}

	if err := s.checkTemplate(p); err != nil {
		return nil, err
	}

	if err := s.planMounts(p, given); err != nil {
		return nil, err
	}

	if err := s.plan(p, given); err != nil {
		return nil, err
	}

	if unprivileged {
		p.conf.Set("unprivileged", "1")
	}

	return p, nil
}

func (s *Service) checkCreate(p *creation, unprivileged bool) error {
	identity := p.call.Identity

	if !unprivileged {
		if err := s.parts.Permissions.Check(identity, "/", false, "Sys.Modify"); err != nil {
			return err
		}
	}

	if other, taken := s.env.Guests.Find(p.vmid); taken {
		return &vmlist.TakenError{VMID: p.vmid, Guest: other}
	}

	if _, ok := s.parts.Permissions.Pool(p.pool); p.pool != "" && !ok {
		return denied(fmt.Sprintf("pool '%s' does not exist", p.pool))
	}

	if s.parts.Permissions.CheckVM(identity, p.vmid, p.pool, false, "VM.Allocate") != nil {
		return &access.Refusal{}
	}

	return nil
}

// checkTemplate requires access to the template, which must be one.
func (s *Service) checkTemplate(p *creation) error {
	if err := s.parts.Storages.CheckVolume(p.call.Identity, p.call.Node, p.vmid, p.template); err != nil {
		return err
	}

	if _, name, _ := strings.Cut(p.template, ":"); !strings.HasPrefix(name, storage.Template+"/") {
		return fmt.Errorf("unexpected content type '%s' - need '%s'", strings.SplitN(name, "/", 2)[0], storage.Template)
	}

	return nil
}

// planMounts takes the mount points out of the settings. Without any, the container has a root of 4 GiB on the default storage.
func (s *Service) planMounts(p *creation, given schema.Params) error {
	for _, key := range given.Names() {
		if !mountKey.MatchString(key) {
			continue
		}

		value := given.Get(key)
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			value = p.storage + ":" + value
		}

		p.mounts[key] = schema.Scalar(value)
	}

	switch {
	case len(p.mounts) == 0:
		p.mounts["rootfs"] = schema.Scalar(p.storage + ":4")
	case !p.mounts.Has("rootfs"):
		return errors.New("mount points configured, but 'rootfs' not set - aborting")
	}

	for _, key := range p.mounts.Names() {
		values, err := s.parse(key, p.mounts.Get(key))
		if err != nil {
			return err
		}

		id, _, _ := strings.Cut(values["volume"], ":")
		if err := s.checkRootDir(p.call, id); err != nil {
			return err
		}
	}

	return nil
}

// checkRootDir requires a storage for the volumes of containers, and the right to allocate in it.
func (s *Service) checkRootDir(c *api.Call, id string) error {
	st, err := s.parts.Storages.On(id, c.Node)
	if err != nil {
		return err
	}

	if !st.Holds(storage.RootDir) {
		return schema.BadParam("storage", "storage '%s' does not support container directories", id)
	}

	return s.parts.Permissions.Check(c.Identity, "/storage/"+id, false, "Datastore.AllocateSpace")
}

// plan writes the settings, except mount points, in normal form.
func (s *Service) plan(p *creation, given schema.Params) error {
	for _, key := range given.Names() {
		if mountKey.MatchString(key) || given.Get(key) == "" {
			continue
		}

		value, err := s.normal(p.vmid, key, given.Get(key))
		if err != nil {
			return err
		}

		p.conf.Set(key, value)
	}

	return nil
}

// normal returns a setting as Proxmox VE writes it.
func (s *Service) normal(vmid int, key, value string) (string, error) {
	switch {
	case vmconfig.IsNetwork(key):
		return s.normalCard(vmid, key, value)
	case key == "tags":
		return vmconfig.UniqueTags(value), nil
	case key == "nameserver", key == "searchdomain":
		return strings.Join(schema.SplitList(value), " "), nil
	default:
		return value, nil
	}
}

// normalCard generates the MAC address of a card that has none (LXC/Config.pm, parse_lxc_network).
func (s *Service) normalCard(vmid int, key, value string) (string, error) {
	card, err := vmconfig.ParseCard(value, s.fields(key))
	if err != nil {
		return "", schema.BadParam(key, "invalid format - %s", err)
	}

	card.Options["type"] = "veth"

	if card.Options["hwaddr"] == "" {
		if err := card.GenerateMAC(s.env.Random.Reader(fmt.Sprintf("ct %d %s", vmid, key))); err != nil {
			return "", err
		}

		card.Options["hwaddr"] = card.Options["macaddr"]
		delete(card.Options, "macaddr")
	}

	return card.String(), nil
}

// reserve takes the ID: from then on the configuration exists and is locked for its creation.
func (s *Service) reserve(p *creation) error {
	err := s.withLock(p.call.Ctx, p.vmid, lockLimit/2, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()

		if err := s.env.Guests.Add(p.vmid, vmlist.Guest{Kind: vmlist.Container, Node: p.call.Node}); err != nil {
			return err
		}

		conf := vmconfig.New()
		conf.Set("lock", "create")
		s.containers[p.vmid] = &container{ID: p.vmid, Node: p.call.Node, Config: conf}
		s.env.Changed()

		return nil
	})
	if err != nil {
		return fmt.Errorf("unable to create CT %d - %w", p.vmid, err)
	}

	return nil
}

// create is the worker. It allocates the volumes, unpacks the template and writes the configuration. After an error nothing remains.
func (s *Service) create(w *task.Worker, p *creation) error {
	err := s.withLock(w.Ctx, p.vmid, lockLimit, func() error { return s.build(w, p) })
	if err != nil {
		s.forget(p.vmid)
		return fmt.Errorf("unable to create CT %d - %w", p.vmid, err)
	}

	if p.pool != "" {
		s.parts.Permissions.JoinPool(p.vmid, p.pool)
	}

	if !p.call.Params.Bool("start", false) {
		return nil
	}

	return s.start(w, p.call.Node, p.vmid)
}

func (s *Service) build(w *task.Worker, p *creation) error {
	m := maker{s: s, w: w, node: p.call.Node, vmid: p.vmid}

	err := m.makeAll(p.conf, p.mounts)
	if err == nil {
		err = s.unpack(w, p)
	}

	if err != nil {
		m.undo()
		return err
	}

	s.complete(p.conf, p)

	return s.on(p.call.Node, p.vmid, func(ct *container) error {
		ct.Config = p.conf
		s.env.Changed()

		return nil
	})
}

// unpack extracts the template into the root (pve-container LXC/Create.pm, restore_tar_archive).
func (s *Service) unpack(w *task.Worker, p *creation) error {
	v, err := s.parts.Storages.Volume(p.call.Node, p.template)
	if err != nil {
		return err
	}

	w.Print("extracting archive '%s'", v.ID)

	return s.env.Wait(w.Ctx, pace.ContainerCreate)
}

// complete adds the settings that Proxmox VE sets for a new container. The system is recognized by the files of the root, which the lab
// does not have: it takes the name of the template.
func (s *Service) complete(conf *vmconfig.Config, p *creation) {
	for key, value := range map[string]string{
		"arch": "amd64", "ostype": systemOf(p.template), "hostname": fmt.Sprintf("CT%d", p.vmid), "memory": "512", "swap": "512",
	} {
		if !conf.Has(key) {
			conf.Set(key, value)
		}
	}
}

// systemOf returns the type of the system in a template by the name of the file, such as local:vztmpl/debian-12-standard_….tar.zst.
func systemOf(template string) string {
	_, file, _ := strings.Cut(template, "/")
	name, _, _ := strings.Cut(file, "-")

	switch name {
	case "alpine", "archlinux", "centos", "debian", "devuan", "fedora", "gentoo", "opensuse", "ubuntu":
		return name
	default:
		return "unmanaged"
	}
}

// forget removes the configuration of a container.
func (s *Service) forget(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.containers, vmid)
	delete(s.running, vmid)
	s.env.Guests.Remove(vmid)
	s.env.Changed()
}
