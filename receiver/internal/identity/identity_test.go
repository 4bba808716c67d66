package identity

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	id1 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	id2 = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
	uid = "1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901"
)

// One path in the unified hierarchy and the container in it.
func TestContainerOfPath(t *testing.T) {
	tests := []struct{ name, path, want string }{
		{"root", "/", ""},
		{"init", "/init.scope", ""},
		{"system service", "/system.slice/nginx.service", ""},
		{"template service", "/system.slice/system-getty.slice/getty@tty1.service", ""},
		{"login session", "/user.slice/user-1000.slice/session-3.scope", ""},
		{"desktop program", "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-4242.scope", ""},
		{"transient unit", "/system.slice/run-r0123456789abcdef0123456789abcdef.scope", ""},
		{"docker daemon", "/system.slice/docker.service", ""},
		{"snap", "/system.slice/snap.docker.dockerd." + uid + ".scope", ""},

		{"docker, cgroupfs", "/docker/" + id1, id1},
		{"docker, systemd", "/system.slice/docker-" + id1 + ".scope", id1},
		{"docker, rootless", "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + id1 + ".scope", id1},
		{"docker, parent of the user's", "/batch/jobs/" + id1, id1},
		{"docker with systemd inside", "/docker/" + id1 + "/system.slice/nginx.service", id1},
		{"docker, init inside", "/system.slice/docker-" + id1 + ".scope/init.scope", id1},
		{"docker in docker", "/docker/" + id1 + "/docker/" + id2, id2},
		{"nerdctl", "/default/" + id1, id1},
		{"nerdctl, systemd", "/system.slice/nerdctl-" + id1 + ".scope", id1},
		{"podman, root", "/machine.slice/libpod-" + id1 + ".scope", id1},
		{"podman, container below", "/machine.slice/libpod-" + id1 + ".scope/container", id1},
		{"podman, rootless", "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id1 + ".scope/container", id1},
		{"podman, cgroupfs", "/libpod_parent/libpod-" + id1, id1},
		{"podman monitor", "/machine.slice/libpod-conmon-" + id1 + ".scope", ""},
		{"podman pod", "/machine.slice/machine-libpod_pod_" + id1 + ".slice/libpod-" + id2 + ".scope", id2},

		{"kubernetes, docker, cgroupfs", "/kubepods/burstable/pod" + uid + "/" + id1, id1},
		{"kubernetes, guaranteed", "/kubepods/pod" + uid + "/" + id1, id1},
		{"kubernetes, docker, systemd", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b2c3d4e_5f60_7182_93a4_b5c6d7e8f901.slice/docker-" + id1 + ".scope", id1},
		{"kubernetes, containerd, systemd", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1b2c3d4e_5f60_7182_93a4_b5c6d7e8f901.slice/cri-containerd-" + id1 + ".scope", id1},
		{"kubernetes, containerd, colons", "/system.slice/containerd.service/kubepods-besteffort-pod1b2c3d4e_5f60_7182_93a4_b5c6d7e8f901.slice:cri-containerd:" + id1, id1},
		{"kubernetes, CRI-O, systemd", "/kubepods.slice/kubepods-pod1b2c3d4e_5f60_7182_93a4_b5c6d7e8f901.slice/crio-" + id1 + ".scope", id1},
		{"kubernetes, CRI-O, cgroupfs", "/kubepods/besteffort/pod" + uid + "/crio-" + id1, id1},
		{"kubernetes, CRI-O, container below", "/kubepods.slice/kubepods-pod1.slice/crio-" + id1 + ".scope/container", id1},
		{"kubernetes, CRI-O monitor", "/kubepods.slice/kubepods-pod1.slice/crio-conmon-" + id1 + ".scope", ""},
		{"kubernetes, pod only", "/kubepods/burstable/pod" + uid, ""},
		{"kubernetes in docker", "/docker/" + id1 + "/kubelet/kubepods/besteffort/pod" + uid + "/" + id2, id2},
		{"kubernetes in docker, systemd", "/system.slice/docker-" + id1 + ".scope/kubelet.slice/kubelet-kubepods.slice/cri-containerd-" + id2 + ".scope", id2},
		{"kubelet in docker", "/docker/" + id1 + "/kubelet", id1},
		{"k3s", "/kubepods/burstable/pod" + uid + "/" + id1 + "/init", id1},

		{"seen from another cgroup namespace", "/../../docker-" + id1 + ".scope", id1},
		{"removed", "/docker/" + id1 + " (deleted)", id1},

		{"lxc", "/lxc/web1", "web1"},
		{"lxc payload", "/lxc.payload/web1", "web1"},
		{"lxd", "/lxc.payload.web-1/system.slice/nginx.service", "web-1"},
		{"lxc monitor", "/lxc.monitor.web1", ""},
		{"docker in lxd", "/lxc.payload.web1/system.slice/docker-" + id1 + ".scope", id1},
		{"nspawn, scope", `/machine.slice/machine-my\x2ddebian.scope`, "my-debian"},
		{"nspawn, service", "/machine.slice/systemd-nspawn@debian.service/payload", "debian"},
		{"libvirt", `/machine.slice/machine-qemu\x2d1\x2dvm.scope/libvirt/emulator`, ""},
		{"scope called machine elsewhere", "/user.slice/machine-x.scope", ""},
		{"ecs on ec2", "/ecs/" + uid + "/" + id1, id1},
		{"ecs on fargate", "/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-1234567890", "0123456789abcdef0123456789abcdef-1234567890"},
		{"garden", "/system.slice/garden.service/garden/6f265890-5165-7fab-6b52-18d1", "6f265890-5165-7fab-6b52-18d1"},
		{"mesos", "/mesos/" + uid, uid},

		{"63 digits", "/docker/" + id1[1:], ""},
		{"65 digits", "/docker/0" + id1, ""},
		{"upper case", "/docker/" + strings.ToUpper(id1), ""},
		{"not a digit", "/docker/g" + id1[1:], ""},
		{"hostile name", "/docker/\xff\x00;" + id1[3:], ""},
		{"empty segments", "//docker//" + id1 + "//", id1},
		{"half an escape", `/machine.slice/machine-a\x2.scope`, `a\x2`},
		{"empty machine", "/machine.slice/machine-.scope", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := FromCgroup("0::" + tt.path + "\n")
			assert.Equal(t, tt.want, got.ID)
			assert.Equal(t, strings.TrimSuffix(tt.path, " (deleted)"), got.Path)
		})
	}
}

// Whole files, with one or both versions of cgroups.
func TestFromCgroup(t *testing.T) {
	tests := []struct {
		name, text string
		want       Cgroup
	}{
		{"empty", "", Cgroup{}},
		{"not a cgroup file", "hello\nworld", Cgroup{}},
		{"one colon", "0:/x", Cgroup{}},
		{"relative path", "0::x", Cgroup{}},
		{"no newline", "0::/a", Cgroup{Path: "/a"}},
		{"version 1", "11:pids:/docker/" + id1 + "\n10:cpu,cpuacct:/docker/" + id1 + "\n1:name=systemd:/docker/" + id1, Cgroup{id1, "/docker/" + id1}},
		{"hybrid, container in version 1", "12:devices:/system.slice/docker-" + id1 + ".scope\n1:name=systemd:/init.scope\n0::/", Cgroup{id1, "/system.slice/docker-" + id1 + ".scope"}},
		{"hybrid, no container", "2:cpu:/\n1:name=systemd:/system.slice/a.service\n0::/system.slice/b.service", Cgroup{"", "/system.slice/b.service"}},
		{"hybrid, unified unused", "2:cpu:/batch\n1:name=systemd:/system.slice/a.service\n0::/", Cgroup{"", "/system.slice/a.service"}},
		{"unified before others", "0::/kubepods/pod1/" + id1 + "\n3:cpu:/docker/" + id2, Cgroup{id1, "/kubepods/pod1/" + id1}},
		{"all at the root", "2:cpu:/\n0::/", Cgroup{"", "/"}},
		{"container's own view", "0::/", Cgroup{"", "/"}},
		{"damaged line between", "2:cpu\n\n0::/docker/" + id1 + "\n", Cgroup{id1, "/docker/" + id1}},
		{"too many lines", strings.Repeat("1:x:/\n", maxHierarchies) + "0::/docker/" + id1, Cgroup{"", "/"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, FromCgroup(tt.text))
		})
	}
}

func TestServiceName(t *testing.T) {
	env := func(entries ...string) string { return strings.Join(entries, "\x00") + "\x00" }
	long := strings.Repeat("n", 300)
	tests := []struct{ name, environ, container, want string }{
		{"nothing known", "", "", "exe"},
		{"no such variable", env("PATH=/bin", "HOME=/"), "", "exe"},
		{"service name", env("PATH=/bin", "OTEL_SERVICE_NAME=shop"), "", "shop"},
		{"before attributes", env("OTEL_RESOURCE_ATTRIBUTES=service.name=other", "OTEL_SERVICE_NAME=shop"), "", "shop"},
		{"before the container", env("OTEL_SERVICE_NAME=shop"), "web1", "shop"},
		{"first of two", env("OTEL_SERVICE_NAME=first", "OTEL_SERVICE_NAME=second"), "", "first"},
		{"empty", env("OTEL_SERVICE_NAME="), "", "exe"},
		{"only spaces", env("OTEL_SERVICE_NAME=  "), "", "exe"},
		{"trimmed", env("OTEL_SERVICE_NAME= shop "), "", "shop"},
		{"with equals sign", env("OTEL_SERVICE_NAME=a=b"), "", "a=b"},
		{"longer variable", env("OTEL_SERVICE_NAMESPACE=x"), "", "exe"},
		{"variable without value", env("OTEL_SERVICE_NAME"), "", "exe"},
		{"cut off", "PATH=/bin\x00OTEL_SERVICE_NAME=sho", "", "exe"},
		{"too long", env("OTEL_SERVICE_NAME=" + long), "", long[:255]},
		{"too long, cut between characters", env("OTEL_SERVICE_NAME=" + strings.Repeat("é", 200)), "", strings.Repeat("é", 127)},
		{"raw bytes stay raw", env("OTEL_SERVICE_NAME=a\xffb"), "", "a\xffb"},

		{"attributes", env("OTEL_RESOURCE_ATTRIBUTES=deployment.environment=prod,service.name=shop,x=y"), "", "shop"},
		{"attributes, spaces", env("OTEL_RESOURCE_ATTRIBUTES= service.name = shop , x=y"), "", "shop"},
		{"attributes, encoded", env("OTEL_RESOURCE_ATTRIBUTES=service.name=my%20shop%2C1+1"), "", "my shop,1+1"},
		{"attributes, last counts", env("OTEL_RESOURCE_ATTRIBUTES=service.name=a,service.name=b"), "", "b"},
		{"attributes, bad encoding", env("OTEL_RESOURCE_ATTRIBUTES=service.name=shop,x=%zz"), "", "exe"},
		{"attributes, not a pair", env("OTEL_RESOURCE_ATTRIBUTES=service.name=shop,x"), "", "exe"},
		{"attributes, empty", env("OTEL_RESOURCE_ATTRIBUTES="), "", "exe"},
		{"attributes, other keys", env("OTEL_RESOURCE_ATTRIBUTES=a.service.name=x"), "", "exe"},
		{"attributes after empty name", env("OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=service.name=shop"), "", "shop"},

		{"container with a name", "", "web1", "web1"},
		{"container with a number", "", id1, "exe"},
		{"container with a UUID", "", uid, "exe"},
		{"fargate", "", "0123456789abcdef0123456789abcdef-1234567890", "exe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, ServiceName([]byte(tt.environ), tt.container, "exe"))
		})
	}
}

func FuzzFromCgroup(f *testing.F) {
	f.Add("0::/docker/" + id1)
	f.Add("11:pids:/lxc/web\n0::/../..\n")
	f.Add(`0::/machine.slice/machine-a\x2db\x.scope`)
	f.Fuzz(func(t *testing.T, text string) {
		got := FromCgroup(text)
		if got.ID != "" && got.Path == "" {
			t.Errorf("container %q in no path", got.ID)
		}
		if !strings.Contains(text, got.Path) {
			t.Errorf("path %q is not in the text", got.Path)
		}
	})
}

func FuzzServiceName(f *testing.F) {
	f.Add([]byte("OTEL_SERVICE_NAME=shop\x00"), "")
	f.Add([]byte("OTEL_RESOURCE_ATTRIBUTES=service.name=a%20b,x=y\x00"), id1)
	f.Fuzz(func(t *testing.T, environ []byte, container string) {
		if got := ServiceName(environ, container, "exe"); got == "" || len(got) > max(maxServiceName, len(container)) {
			t.Errorf("service name %q", got)
		}
	})
}

func TestMembershipOfCgroups(t *testing.T) {
	const text = "4:memory:/other\nbroken\n2:cpu,cpuacct:/batch/night (deleted)\n0::/"
	for cgroup, want := range map[string]bool{
		"/other": true, "/batch": true, "/batch/night": true, "": true,
		"/bat": false, "/night": false, "/batch/night/x": false, "/cpu": false,
	} {
		assert.Equal(t, want, InCgroup(text, cgroup), cgroup)
	}
	assert.False(t, InCgroup("", ""), "nothing is known")
}
