package lab_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	client "github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// api returns an independent client for the host of a lab.
func api(t *testing.T, dir string) *client.Client {
	t.Helper()
	d, err := lab.ReadDescription(dir)
	require.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // an emulated host has a self-signed certificate
	t.Cleanup(transport.CloseIdleConnections)
	return client.NewClient(d.ProxmoxEndpoint()+"/api2/json",
		client.WithHTTPClient(&http.Client{Transport: transport, Timeout: time.Minute}),
		client.WithAPIToken("em-infra@pve!rehearsal", d.Token[len("em-infra@pve!rehearsal="):]))
}

func TestFaultsOfARunningLab(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	start(t, dir)
	ctx, console, host := t.Context(), control.NewClient(dir), api(t, dir)
	version, err := host.Version(ctx)
	require.NoError(t, err)
	require.Equal(t, "9.1", version.Release, "the lab was made as such")

	for text, wrong := range map[string]fault.Fault{
		`fault: there is no "forbiden": did you mean forbidden?`:                                   {Name: "forbiden"},
		`fault: there is no host "vmhots": did you mean vmhost?`:                                   {Name: "forbidden", Node: "vmhots"},
		`fault: there is no endpoint "/nodez": did you mean /nodes?`:                               {Name: "forbidden", Endpoint: "/nodez"},
		`fault: there is no endpoint "/elsewhere/by/far": see docs/testing.md for those there are`: {Name: "forbidden", Endpoint: "/elsewhere/by/far"},
		`fault: clone-fails occurs in the work behind a call, not at one: leave the endpoint out`:  {Name: "clone-fails", Endpoint: "/nodes"},
	} {
		err := console.SetFault(ctx, wrong)
		require.ErrorIs(t, err, control.ErrRefused)
		require.EqualError(t, err, text)
	}
	require.NoError(t, console.SetFault(ctx, fault.Fault{Name: "apply-hangs", Endpoint: "/machine.MachineService/ApplyConfiguration", Node: "vmhost"}))
	require.NoError(t, console.SetFault(ctx, fault.Fault{Name: "nas-connection-cut", Endpoint: "pool.dataset.update"}))
	require.NoError(t, console.SetFault(ctx, fault.Fault{Name: "unauthorized", Endpoint: "/version", Times: 1}))
	_, err = host.Version(ctx)
	require.ErrorIs(t, err, client.ErrNotAuthorized)
	_, err = host.Version(ctx)
	require.NoError(t, err)

	list, err := console.Faults(ctx)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, fault.State{Fault: fault.Fault{Name: "unauthorized", Endpoint: "/version", Times: 1}, Seen: 2, Occurred: 1}, list[2])
	count, err := console.ClearFaults(ctx, "")
	require.NoError(t, err)
	require.Equal(t, 3, count)
	_, err = console.ClearFaults(ctx, "unauthorised")
	require.EqualError(t, err, `fault: there is no "unauthorised": did you mean unauthorized?`)
}

// TestFaultsOfTheImageFactory checks that its faults affect clients and the host's downloads.
func TestFaultsOfTheImageFactory(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	start(t, dir)
	d, err := lab.ReadDescription(dir)
	require.NoError(t, err)
	require.NoError(t, control.NewClient(dir).SetFault(t.Context(), fault.Fault{Name: "factory-unavailable", Times: 2}))
	versions := func() int {
		response, err := http.Get(d.FactoryURL() + "/versions")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusServiceUnavailable, versions())
	err = api(t, dir).GetWithParams(t.Context(), "/nodes/vmhost/query-url-metadata",
		map[string]string{"url": d.FactoryURL() + "/image/x/v1.12.4/nocloud-amd64.iso"}, nil)
	require.ErrorContains(t, err, "503")
	require.Equal(t, http.StatusOK, versions())
}

// TestFaultsEndWithTheLab checks that a restarted lab has no faults.
func TestFaultsEndWithTheLab(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	start(t, dir)
	require.NoError(t, control.NewClient(dir).SetFault(t.Context(), fault.Fault{Name: "forbidden"}))
	_, err := lab.Stop(t.Context(), dir)
	require.NoError(t, err)
	start(t, dir)
	list, err := control.NewClient(dir).Faults(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

// TestStoppedInMidClone checks the state of a lab that was stopped during a clone: that of a host after a power cut. The lock
// is removed on its console, and then the VM can be deleted.
func TestStoppedInMidClone(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	start(t, dir)
	ctx := t.Context()
	host := api(t, dir)
	node, err := host.Node(ctx, "vmhost")
	require.NoError(t, err)
	task, err := node.NewVirtualMachine(ctx, 9000, client.VirtualMachineOption{Name: "scsi0", Value: "tank:1"},
		client.VirtualMachineOption{Name: "template", Value: 1})
	require.NoError(t, err)
	require.NoError(t, task.Wait(ctx, time.Millisecond, time.Minute))
	require.True(t, task.IsSuccessful, task.ExitStatus)

	// A download without an answer occupies no worker; a clone whose storage is busy for ten seconds does.
	require.NoError(t, control.NewClient(dir).SetFault(ctx, fault.Fault{Name: "clone-hangs"}))
	template := &client.VirtualMachine{}
	template.New(host, "vmhost", 9000)
	_, task, err = template.Clone(ctx, &client.VirtualMachineCloneOptions{NewID: 101, Full: true})
	require.NoError(t, err)
	polltest.Until(t, func() bool { return locked(ctx, host) == "clone" })
	_, err = lab.Stop(ctx, dir)
	require.NoError(t, err)

	start(t, dir)
	require.NoError(t, task.Ping(ctx))
	require.Equal(t, "unexpected status", task.ExitStatus)
	require.Equal(t, "clone", locked(ctx, host))
	half := &client.VirtualMachine{}
	half.New(host, "vmhost", 101)
	remove := func() string {
		task, err := half.Delete(ctx)
		require.NoError(t, err)
		require.NoError(t, task.Wait(ctx, time.Millisecond, time.Minute))
		return task.ExitStatus
	}
	require.Equal(t, "VM is locked (clone)", remove())
	require.EqualError(t, control.NewClient(dir).Unlock(ctx, 102), "Configuration file 'nodes/vmhost/qemu-server/102.conf' does not exist")
	require.EqualError(t, control.NewClient(dir).Reset(ctx, 101), "VM is locked (clone)")
	require.NoError(t, control.NewClient(dir).Unlock(ctx, 101))
	require.Empty(t, locked(ctx, host))
	require.EqualError(t, control.NewClient(dir).Reset(ctx, 101), "VM 101 not running")
	require.EqualError(t, control.NewClient(dir).Reset(ctx, 102), "Configuration file 'nodes/vmhost/qemu-server/102.conf' does not exist")
	require.Equal(t, "OK", remove())
}

// locked returns the lock of VM 101.
func locked(ctx context.Context, host *client.Client) string {
	vm := &client.VirtualMachine{}
	vm.New(host, "vmhost", 101)
	if err := vm.Ping(ctx); err != nil {
		return err.Error()
	}
	return vm.Lock
}

// TestCertificateOfTheHost checks that the host keeps its certificate over a restart.
func TestCertificateOfTheHost(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	start(t, dir)
	first := shown(t, dir)
	require.NoError(t, first.VerifyHostname("vmhost"))
	d, err := lab.ReadDescription(dir)
	require.NoError(t, err)
	require.NoError(t, first.VerifyHostname(d.Proxmox.Addr().String()))
	_, err = lab.Stop(t.Context(), dir)
	require.NoError(t, err)
	start(t, dir)
	require.Equal(t, first.Raw, shown(t, dir).Raw)

	info, err := os.Stat(filepath.Join(dir, "host-certificate.pem"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it holds the key")
	_, err = lab.Stop(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "host-certificate.pem"), nil, 0o600))
	err = lab.Start(t.Context(), dir, process(t, "serve", dir))
	require.EqualError(t, err, dir+"/host-certificate.pem is damaged (tls: failed to find any PEM data in certificate input): "+
		"delete it, and the host gets another")
}

// shown returns the certificate of a lab's host.
func shown(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	d, err := lab.ReadDescription(dir)
	require.NoError(t, err)
	connection, err := tls.Dial("tcp", d.Proxmox.String(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is looked at, not trusted
	require.NoError(t, err)
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0]
}

func TestReleaseOfALab(t *testing.T) {
	t.Parallel()
	dir := labDir(t)
	made := described(t)
	require.NoError(t, made.Write(dir))
	require.NoError(t, made.Bears(""))
	require.NoError(t, made.Bears(schema.Release91))
	require.EqualError(t, made.Bears(schema.Release84), "the lab of k3s-dev was made as Proxmox VE 9.1 and stays that: "+
		"leave --pve out, or stop the lab and delete its folder to begin anew with 8.4")

	o := options(t, dir, parse(t, clusterYAML, nodesYAML))
	o.Release = schema.Release84
	require.EqualError(t, lab.Serve(t.Context(), o), made.Bears(schema.Release84).Error())
	o.Dir, o.Release = labDir(t), "7.4"
	require.EqualError(t, lab.Serve(t.Context(), o), "proxmox ve 7.4 is not emulated: choose one of 8.4, 9.1")
}

// TestFaultsAreKnown checks that fault names are unique, and that each source exists.
func TestFaultsAreKnown(t *testing.T) {
	t.Parallel()
	failures, err := os.ReadFile("../../docs/failures.md")
	require.NoError(t, err)
	numbered, source := regexp.MustCompile(`^F\d+$`), regexp.MustCompile(`\.(pm|go)$|^(talos|truenas|RFC) `)
	seen := map[string]bool{}
	for _, kind := range lab.FaultKinds() {
		require.Regexp(t, `^[a-z]+(-[a-z]+)+$|^[a-z]+$`, kind.Name)
		require.False(t, seen[kind.Name], "%s twice", kind.Name)
		seen[kind.Name] = true
		require.NotEmpty(t, kind.About)
		if numbered.MatchString(kind.Source) {
			require.Regexp(t, `(?m)^\| (F\d+, )?`+kind.Source+`(, F\d+)? \|`, string(failures), kind.Name)
			continue
		}
		require.Regexp(t, source, kind.Source, kind.Name)
	}
}
