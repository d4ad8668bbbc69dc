package proxmox_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParametersAreVerified(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()

	const notInSchema = "property is not defined in schema and the schema does not allow additional properties"

	tests := []struct {
		name, verb, path, params string
		errors                   map[string]string
	}{
		{
			"unknown", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 colour=red",
			map[string]string{"colour": notInSchema},
		},
		{
			"an index beyond the last", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 net32=virtio ide4=none",
			map[string]string{"net32": notInSchema, "ide4": notInSchema},
		},
		{
			"missing", http.MethodPost, "/nodes/vmhost/qemu/9000/clone", "name=a",
			map[string]string{"newid": "property is missing and it is not optional"},
		},
		{
			"named without a value", http.MethodPost, "/pools", "poolid= comment=x",
			map[string]string{"poolid": "property is missing and it is not optional"},
		},
		{
			"no integer", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 cores=two",
			map[string]string{"cores": "type check ('integer') failed - got 'two'"},
		},
		{
			"no flag", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 onboot=yes",
			map[string]string{"onboot": "type check ('boolean') failed - got 'yes'"},
		},
		{
			"no number", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 cpulimit=much",
			map[string]string{"cpulimit": "type check ('number') failed - got 'much'"},
		},
		{
			"too small and too large", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 cores=0 cpulimit=129",
			map[string]string{
				"cores": "value must have a minimum value of 1", "cpulimit": "value must have a maximum value of 128",
			},
		},
		{
			"not in the enumeration", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 bios=uefi",
			map[string]string{"bios": "value 'uefi' does not have a value in the enumeration 'seabios, ovmf'"},
		},
		{
			"a pattern", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 serial0=usb",
			map[string]string{"serial0": "value does not match the regex pattern"},
		},
		{
			"a VMID below the first", http.MethodPost, "/nodes/vmhost/qemu", "vmid=99",
			map[string]string{"vmid": "invalid format - value does not look like a valid VM ID\n"},
		},
		{
			"a name that is no DNS name", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 name=a_b",
			map[string]string{"name": "invalid format - value does not look like a valid DNS name\n"},
		},
		{
			"a tag with a forbidden character", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 tags=a;b!",
			map[string]string{"tags": "invalid format - invalid characters in tag\n"},
		},
		{
			"a property string with an unknown key", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 net0=virtio,speed=9",
			map[string]string{"net0": "invalid format - invalid key in comma-separated list property: speed\n"},
		},
		{
			"a property string with a bad value", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 net0=virtio,tag=5000",
			map[string]string{"net0": "invalid format - format error\ntag: value must have a maximum value of 4094\n"},
		},
		{
			"a repeated parameter", http.MethodPost, "/nodes/vmhost/qemu", "vmid=101 cores=1 cores=2",
			map[string]string{"cores": "type check ('integer') failed - got ARRAY"},
		},
		{
			"one that needs another", http.MethodPost, "/nodes/vmhost/storage/local/download-url",
			"content=iso filename=a.iso url=http://127.0.0.1/a.iso checksum=ff",
			map[string]string{"checksum-algorithm": "missing property - 'checksum' requires this property"},
		},
		{
			"a conflict with the path", http.MethodPost, "/nodes/vmhost/qemu/9000/clone", "newid=101 vmid=9001",
			map[string]string{"vmid": "duplicate parameter (already defined in URI) with conflicting values!"},
		},
		{
			"a taken VMID", http.MethodGet, "/cluster/nextid", "vmid=9000",
			map[string]string{"vmid": "VM 9000 already exists"},
		},
		{
			"a prefix that is none", http.MethodPut, "/nodes/vmhost/qemu/9000/config", "ipconfig0=ip=10.0.0.1/40",
			map[string]string{
				"ipconfig0": "invalid format - format error\nip: invalid format - value does not look like a valid ipv4 network configuration\n\n",
			},
		},
	}

	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			r := l.do(test.verb, test.path, values(test.params))
			require.Equal(t, "400 Parameter verification failed.", r.Status)
			require.Equal(t, "Parameter verification failed.\n", r.Message)
			require.Equal(t, test.errors, r.Errors)
			require.Equal(t, json.RawMessage("null"), r.Data)
		})
	}
}

// TestJSONBodies checks JSON bodies with JSON's own types.
func TestJSONBodies(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	post := func(body string) reply {
		request, err := http.NewRequest(http.MethodPost, l.base+"/api2/json/nodes/vmhost/qemu", strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "PVEAPIToken="+l.token)
		request.Header.Set("Content-Type", "application/json")

		response, err := l.http.Do(request)
		require.NoError(t, err)

		defer response.Body.Close()

		r := reply{Status: response.Status}
		require.NoError(t, json.NewDecoder(response.Body).Decode(&r))

		return r
	}

	var upid string

	made := post(`{"vmid":101,"name":"a","onboot":true,"cores":2,"pool":null}`)
	require.Equal(t, "200 OK", made.Status)
	require.NoError(t, json.Unmarshal(made.Data, &upid))
	require.Equal(t, "OK", l.wait(upid).ExitStatus)
	require.Equal(t, float64(1), l.config("101")["onboot"])

	refused := post(`{"vmid":102,"name":{"first":"a"},"cores":[1],"tags":false}`)
	require.Equal(t, map[string]string{
		"name":  "type check ('string') failed - got HASH",
		"cores": "type check ('integer') failed - got ARRAY",
		"tags":  "type check ('string') failed - got JSON::PP::Boolean",
	}, refused.Errors)
}
