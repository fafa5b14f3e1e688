# Shell commands are judged by what they start. A program belongs to families,
# and the rules of a family are looked at only where one of its programs is
# started, also behind env, timeout, xargs, sudo, find -exec or sh -c. An everyday
# command costs one look-up.
package gatehouse.permission

decisions contains d if {
	input.tool.name == "Bash"
	some c in input.bash.commands
	some family in families[c.name.basename]
	some d in about[family]
}

families := {
	# other rights
	"sudo": ["privilege"], "su": ["privilege"], "doas": ["privilege"], "pkexec": ["privilege"], "nsenter": ["privilege"],
	"runuser": ["privilege"], "gosu": ["privilege"], "run0": ["privilege"], "setpriv": ["privilege"], "chroot": ["privilege"],
	"sudoedit": ["privilege"], "visudo": ["privilege"], "sg": ["privilege"], "newgrp": ["privilege"], "dzdo": ["privilege"],
	"setcap": ["privilege"], "machinectl": ["privilege"], "su-exec": ["privilege"], "unshare": ["privilege"],
	"docker": ["container", "publish"], "podman": ["container", "publish"], "nerdctl": ["container", "publish"],
	"docker-compose": ["container"],
	# later and elsewhere
	"gatehouse": ["session"], "mpm-session-server": ["session"], "claude": ["session"], "npx": ["runner"], "bunx": ["runner"], "pnpx": ["runner"], "uvx": ["runner"],
	"crontab": ["persistence"], "launchctl": ["persistence"], "at": ["persistence"], "batch": ["persistence"],
	"schtasks": ["persistence"], "update-rc.d": ["persistence"], "chkconfig": ["persistence"], "rc-update": ["persistence"],
	"systemd-run": ["persistence"], "systemctl": ["service"], "loginctl": ["service"],
	"kill": ["process"], "pkill": ["process"], "killall": ["process"], "killall5": ["process"], "skill": ["process"],
	"shutdown": ["host"], "reboot": ["host"], "halt": ["host"], "poweroff": ["host"], "telinit": ["host"], "init": ["host"],
	"env": ["environment"], "printenv": ["environment"],
	# files and data
	"cat": ["contents"], "head": ["contents"], "tail": ["contents"], "less": ["contents"], "more": ["contents"], "nl": ["contents"],
	"tac": ["contents"], "rev": ["contents"], "od": ["contents"], "xxd": ["contents"], "hexdump": ["contents"], "strings": ["contents"],
	"base64": ["contents"], "base32": ["contents"], "cp": ["contents"], "mv": ["contents"], "ln": ["contents"], "tar": ["contents"],
	"zip": ["contents"], "gzip": ["contents"], "cut": ["contents"], "paste": ["contents"], "bat": ["contents"], "dd": ["device", "contents"],
	"rm": ["remove"], "rmdir": ["remove"], "shred": ["remove", "irreversible"], "unlink": ["remove"], "truncate": ["irreversible"],
	"find": ["find"], "chmod": ["rights"], "chown": ["rights"], "chgrp": ["rights"],
	"mkfs": ["filesystem"], "mkfs.ext2": ["filesystem"], "mkfs.ext3": ["filesystem"], "mkfs.ext4": ["filesystem"],
	"mkfs.xfs": ["filesystem"], "mkfs.btrfs": ["filesystem"], "mkfs.vfat": ["filesystem"], "mkfs.fat": ["filesystem"],
	"mkfs.ntfs": ["filesystem"], "mkfs.exfat": ["filesystem"], "mkfs.f2fs": ["filesystem"], "mke2fs": ["filesystem"],
	"wipefs": ["filesystem"], "fdisk": ["filesystem"], "sfdisk": ["filesystem"], "gdisk": ["filesystem"], "sgdisk": ["filesystem"],
	"parted": ["filesystem"], "mkswap": ["filesystem"], "blkdiscard": ["filesystem"], "hdparm": ["filesystem"],
	"terraform": ["irreversible"], "tofu": ["irreversible"], "pulumi": ["irreversible"], "kubectl": ["irreversible"],
	"helm": ["irreversible", "publish"], "redis-cli": ["database"], "psql": ["database"], "mysql": ["database"],
	"mariadb": ["database"], "sqlite3": ["database"], "mongosh": ["database"], "mongo": ["database"], "dropdb": ["database"],
	# other hosts
	"nc": ["raw"], "ncat": ["raw"], "netcat": ["raw"], "nc.openbsd": ["raw"], "nc.traditional": ["raw"], "socat": ["raw"],
	"telnet": ["raw"], "tftp": ["raw"], "cryptcat": ["raw"], "openssl": ["tls", "contents"],
	"curl": ["network", "curl"], "wget": ["network", "wget"], "ssh": ["network"], "ftp": ["network"], "lftp": ["network"],
	"aria2c": ["network"], "http": ["network", "httpie"], "https": ["network", "httpie"], "xh": ["network", "httpie"],
	"scp": ["network", "copy", "contents"], "sftp": ["network", "copy"], "rsync": ["copy"], "ssh-copy-id": ["network"],
	"dig": ["network", "names"], "nslookup": ["network", "names"], "host": ["network", "names"], "drill": ["network", "names"],
	"ping": ["names"], "ping6": ["names"], "aws": ["cloud", "irreversible"], "gsutil": ["cloud"], "gcloud": ["cloud", "irreversible"], "az": ["cloud", "irreversible"],
	"rclone": ["cloud"], "s3cmd": ["cloud"], "azcopy": ["cloud"], "ngrok": ["tunnel"], "cloudflared": ["tunnel"],
	# publishing
	"gh": ["github"], "glab": ["publish"], "npm": ["publish"], "pnpm": ["publish", "runner"], "yarn": ["publish", "runner"],
	"bun": ["publish", "runner"], "cargo": ["publish"], "gem": ["publish"], "twine": ["publish"], "poetry": ["publish"], "uv": ["publish"],
	"flit": ["publish"], "hatch": ["publish"], "dotnet": ["publish"], "nuget": ["publish"], "mvn": ["publish"], "vsce": ["publish"],
	"git": ["git"],
	# whole trees
	"grep": ["tree"], "egrep": ["tree"], "fgrep": ["tree"], "zgrep": ["tree"], "diff": ["tree"], "rg": ["tree"], "ag": ["tree"], "ack": ["tree"],
	"ugrep": ["tree"], "ug": ["tree"],
}
