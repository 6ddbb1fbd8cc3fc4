package kafkatest

import (
	"os/exec"
	"path/filepath"
	"syscall"
)

// guardScript waits until its standard input ends, which is when Close is called or when the process that started the
// broker has died of whatever cause, and then removes the broker without a trace. The very first broker on a machine
// is stopped cleanly instead of killed, since it then leaves the class archive that halves all later starts.
const guardScript = `
home=$1
cat >/dev/null
cd / && exec 9>"$home/lock" && flock 9
kafka() { bash "$home/kafka.sh" "$1" --dir "$home/broker" 9>&-; }
lib=$(kafka install)
[ -s "$lib/broker.jsa" ] || { kafka resume; kafka stop; }
kafka destroy
rm -rf "$home"
`

// startGuard starts the guard in a session of its own: what is sent to this process's group, as by Ctrl-C, must not
// kill the guard before it has done its duty.
func (b *Broker) startGuard() error {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return err
	}
	guard := exec.Command(bash, "-c", guardScript, "kafka-guard", filepath.Clean(b.home))
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := guard.StdinPipe()
	if err != nil {
		return err
	}
	if err := guard.Start(); err != nil {
		return err
	}
	b.guard, b.lifeline = guard, stdin
	return nil
}

// Close kills the broker and removes its directory. It may be called more than once.
func (b *Broker) Close() {
	b.closeOnce.Do(func() {
		b.lifeline.Close()
		_ = b.guard.Wait() // it reports nothing: its exit status is that of its last command
	})
}
