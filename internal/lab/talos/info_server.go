package talos

import (
	"context"
	"runtime"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	timeapi "github.com/siderolabs/talos/pkg/machinery/api/time"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Version returns the running release and its platform.
func (m *machinedServer) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	return &machine.VersionResponse{Messages: []*machine.Version{{
		Version:  &machine.VersionInfo{Tag: m.system.release.Version, GoVersion: runtime.Version(), Os: "linux", Arch: "amd64"},
		Platform: &machine.PlatformInfo{Name: platformName, Mode: platformMode{}.String()},
		Features: &machine.FeaturesInfo{Rbac: true},
	}}}, nil
}

// Hostname returns the node's name.
func (m *machinedServer) Hostname(context.Context, *emptypb.Empty) (*machine.HostnameResponse, error) {
	n, err := m.system.network(m.system.config())
	if err != nil {
		return nil, err
	}

	return &machine.HostnameResponse{Messages: []*machine.Hostname{{Hostname: n.hostname}}}, nil
}

// kernelShareMiB is the part of a VM's memory that Linux does not count (pkg/minimal allows for 150 MiB).
const kernelShareMiB = 48

// Memory returns the VM's memory in KiB, most of it free.
func (m *machinedServer) Memory(context.Context, *emptypb.Empty) (*machine.MemoryResponse, error) {
	total := uint64(max(0, m.system.hardware.MemoryMiB-kernelShareMiB)) << 10
	used := min(total, uint64(600)<<10)

	return &machine.MemoryResponse{Messages: []*machine.Memory{{Meminfo: &machine.MemInfo{
		Memtotal: total, Memfree: total - used, Memavailable: total - used,
	}}}}, nil
}

// ServiceList is the service table.
func (m *machinedServer) ServiceList(context.Context, *emptypb.Empty) (*machine.ServiceListResponse, error) {
	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{{Services: m.system.services.List()}}}, nil
}

// SystemStat returns the boot time and the number of CPUs.
func (m *machinedServer) SystemStat(context.Context, *emptypb.Empty) (*machine.SystemStatResponse, error) {
	return &machine.SystemStatResponse{Messages: []*machine.SystemStat{{
		BootTime: uint64(m.system.booted.Unix()),
		CpuTotal: &machine.CPUStat{},
		Cpu:      make([]*machine.CPUStat, m.system.hardware.CPUs),
	}}}, nil
}

// LoadAvg returns the load of an idle node.
func (m *machinedServer) LoadAvg(context.Context, *emptypb.Empty) (*machine.LoadAvgResponse, error) {
	return &machine.LoadAvgResponse{Messages: []*machine.LoadAvg{{}}}, nil
}

// bootIDFile is the file with the ID of the boot.
const bootIDFile = "/proc/sys/kernel/random/boot_id"

// Read sends a file. An emulated node has only one: the boot ID.
func (m *machinedServer) Read(in *machine.ReadRequest, stream machine.MachineService_ReadServer) error {
	if in.GetPath() == bootIDFile {
		return stream.Send(&common.Data{Bytes: []byte(m.system.bootID + "\n")})
	}

	return status.Errorf(codes.NotFound, "stat %s: no such file or directory", in.GetPath())
}

// timeServer serves the clock, which is the lab's and therefore in sync.
type timeServer struct {
	timeapi.UnimplementedTimeServiceServer

	system *system
}

// Time compares the clock with the configured time server.
func (t *timeServer) Time(ctx context.Context, _ *emptypb.Empty) (*timeapi.TimeResponse, error) {
	server := constants.DefaultNTPServer
	if cfg := t.system.config().NetworkTimeSyncConfig(); cfg != nil && len(cfg.Servers()) > 0 {
		server = cfg.Servers()[0]
	}

	return t.TimeCheck(ctx, &timeapi.TimeRequest{Server: server})
}

// TimeCheck compares the clock with a time server. They always agree.
func (t *timeServer) TimeCheck(_ context.Context, in *timeapi.TimeRequest) (*timeapi.TimeResponse, error) {
	now := timestamppb.New(t.system.fleet.config.Now())

	return &timeapi.TimeResponse{Messages: []*timeapi.Time{{Server: in.GetServer(), Localtime: now, Remotetime: now}}}, nil
}
