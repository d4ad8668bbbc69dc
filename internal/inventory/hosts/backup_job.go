package hosts

import "github.com/em-infra/em-infra/internal/inventory/manifest"

// BackupJob makes backups of machines at times. One that exists is adopted; one that was made here goes when it is left out, and its backups stay.
// Every change is applied in place, and a setting without a default that is left out stays as it is.
type BackupJob struct {
	// Name of the job, its ID in Proxmox VE. Required. A change makes another one.
	Name string `yaml:"name" required:"true"`
	// Schedule as a calendar event of Proxmox VE, e.g. "02:30" or "sat 03:00". Required.
	Schedule string `yaml:"schedule" required:"true"`
	// Storage that takes the backups. Required.
	Storage string `yaml:"storage" required:"true"`
	// Pool whose machines are backed up, such as that of a cluster. Give one of pool, vmids and all. Default: none.
	Pool string `yaml:"pool"`
	// VMIDs of the machines that are backed up. Default: none.
	VMIDs []int `yaml:"vmids" max:"256"`
	// All is whether all machines are backed up. Default: false.
	All bool `yaml:"all"`
	// Exclude are VMIDs that are left out of all. Default: none.
	Exclude []int `yaml:"exclude" max:"256"`
	// Host whose machines are backed up. Default: it stays as it is; in a new job all hosts.
	Host string `yaml:"host"`
	// Mode: snapshot while the machine runs, suspend, or stop. Default: snapshot.
	Mode BackupMode `yaml:"mode" default:"snapshot"`
	// Compression of the archives; a backup server has its own. Default: zstd.
	Compression Compression `yaml:"compression" default:"zstd"`
	// Keep is how many backups of a machine stay. Default: it stays as it is; in a new job what the storage says.
	Keep *Keep `yaml:"keep"`
	// Comment of the job, in one line. Default: it stays as it is; in a new job none.
	Comment string `yaml:"comment"`
	// Enabled is whether the job runs. Default: true.
	Enabled bool `yaml:"enabled" default:"true"`
}

// Keep is how many backups of a machine stay: the newest ones, and the newest one of each of so many hours, days, weeks, months and years.
type Keep struct {
	// Last is how many of the newest backups stay. Default: none, apart from those that the other numbers keep.
	Last int `yaml:"last" min:"1"`
	// Hourly is the number of hours that keep their newest backup. Default: none.
	Hourly int `yaml:"hourly" min:"1"`
	// Daily is the number of days that keep their newest backup. Default: none.
	Daily int `yaml:"daily" min:"1"`
	// Weekly is the number of weeks that keep their newest backup. Default: none.
	Weekly int `yaml:"weekly" min:"1"`
	// Monthly is the number of months that keep their newest backup. Default: none.
	Monthly int `yaml:"monthly" min:"1"`
	// Yearly is the number of years that keep their newest backup. Default: none.
	Yearly int `yaml:"yearly" min:"1"`
}

// BackupMode is what happens to a machine while it is backed up.
type BackupMode string

// Choices returns all modes.
func (BackupMode) Choices() []string { return []string{"snapshot", "suspend", "stop"} }

// UnmarshalText reads a mode.
func (m *BackupMode) UnmarshalText(text []byte) error { return manifest.Choose(m, text) }

// Compression is how archives are compressed.
type Compression string

// CompressionNone compresses nothing.
const CompressionNone Compression = "none"

// Choices returns all compressions.
func (Compression) Choices() []string {
	return []string{"zstd", "gzip", "lzo", string(CompressionNone)}
}

// UnmarshalText reads a compression.
func (c *Compression) UnmarshalText(text []byte) error { return manifest.Choose(c, text) }
