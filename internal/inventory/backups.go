package inventory

import (
	"strings"

	"filippo.io/age"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/retention"
)

// Backups are the snapshots of etcd: where they are, who can open them, and which of them stay.
type Backups struct {
	// Bucket is a second place for the snapshots, apart from the machine that runs em-infra. It has the form of backend.url in Pulumi.yaml:
	// s3://BUCKET?region=REGION, with endpoint=URL&use_path_style=true for a server of your own, or file:///FOLDER, such as the folder of a share. The
	// snapshots are in STACK/etcd below it. The key comes from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Default: none, they are on that machine
	// only. A change affects later snapshots only.
	Bucket BucketURL `yaml:"bucket"`
	// Recipients are the age keys for which snapshots are encrypted, age1…, as age-keygen prints them: each of their owners can open
	// one. Default: none, the passphrase of the stack opens them. A change affects later snapshots only.
	Recipients []Recipient `yaml:"recipients" max:"20"`
	// Keep is the rule by which snapshots stay.
	Keep Keep `yaml:"keep"`
}

// Keep is the rule by which snapshots stay: a snapshot stays if any of the numbers keeps it. The rule is applied each time that a snapshot is taken.
type Keep struct {
	// Last is how many of the newest snapshots of each reason stay, such as those from before an up. Default: 20.
	Last int `yaml:"last" min:"1" max:"1000" default:"20"`
	// Daily is the number of days that keep their newest snapshot. Default: 7.
	Daily int `yaml:"daily" min:"0" max:"1000" default:"7"`
	// Weekly is the number of weeks that keep their newest snapshot. Default: 4.
	Weekly int `yaml:"weekly" min:"0" max:"1000" default:"4"`
}

// Rule returns the rule.
func (k Keep) Rule() retention.Rule {
	return retention.Rule{Last: k.Last, Daily: k.Daily, Weekly: k.Weekly}
}

// Recipient is the public half of an age key, age1…. The zero Recipient means none.
type Recipient struct{ key *age.X25519Recipient }

// String returns age1….
func (r Recipient) String() string {
	if r.key == nil {
		return ""
	}
	return r.key.String()
}

// IsZero reports whether there is none.
func (r Recipient) IsZero() bool { return r.key == nil }

// Key returns what encrypts for the recipient.
func (r Recipient) Key() age.Recipient { return r.key }

// MarshalText implements [encoding.TextMarshaler].
func (r Recipient) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// privateKey is how the private half of an age key begins.
const privateKey = "AGE-SECRET-KEY-"

// UnmarshalText reads age1…. A private key in its place is not repeated in the error.
func (r *Recipient) UnmarshalText(text []byte) error {
	if strings.HasPrefix(strings.ToUpper(string(text)), privateKey) {
		return &strictyaml.Fault{
			What: "is the private half of an age key", Got: privateKey + "…",
			Do: "write its public half, which `age-keygen -y` prints, and make a new key if others can read this file",
		}
	}
	key, err := age.ParseX25519Recipient(string(text))
	if err != nil {
		return &strictyaml.Fault{What: "is not the public half of an age key", Rule: "age1 and 58 letters and digits", Do: "write what age-keygen prints as the public key"}
	}
	r.key = key
	return nil
}
