#!/usr/bin/perl
# Runs a command under a seccomp filter, so that it can't evade the firewall and the disk watch:
#
#   seccomp.pl COMMAND [ARGUMENT...]
#
# nftables only filters IPv4 and IPv6. So sockets of other families are refused (AF_VSOCK would reach the host of a
# virtual machine), and so are io_uring, which makes sockets without the socket call, and system calls of another
# architecture, whose numbers differ. Of IP, only TCP, UDP and ICMP are allowed, and of netlink, only routes: asking for
# another protocol would make the host's kernel load its module.
#
# Keys in the kernel are counted by user, for the whole host, and outlive the container: making keys is refused.
#
# The disk watch sees a disk fill at the speed of writing, but a single call of fallocate could take all of it (and with
# FALLOC_FL_KEEP_SIZE no limit on the size of a file applies). So it is refused as on a file system without support for
# it, and so are ioctls that do the same, or that move a file out of its project's quota.
#
# Needs no_new_privs or CAP_SYS_ADMIN, and only perl-base.
#
# Exit codes: the command's; 5 when the filter could not be installed or has no effect.
use strict;
use warnings;
use Errno qw(EAFNOSUPPORT EBADF ENOSYS EOPNOTSUPP EPROTONOSUPPORT);
use POSIX ();

# Numbers from the kernel's audit.h, unistd.h and fs.h.
my %machines = (
    x86_64 => {
        audit     => 0xC000003E,
        prctl     => 157,
        seccomp   => 317,
        socket    => 41,
        fallocate => 285,
        ioctl     => 16,
        keys      => [ 248, 249, 250 ],    # add_key, request_key, keyctl
    },
    aarch64 => {
        audit     => 0xC00000B7,
        prctl     => 167,
        seccomp   => 277,
        socket    => 198,
        fallocate => 47,
        ioctl     => 29,
        keys      => [ 217, 218, 219 ],
    },
);
my ( $uring_setup, $uring_register ) = ( 425, 427 ); # 426 is between them, on both machines
my $x32 = 0x40000000; # the bit that marks x32 system calls
my ( $unix, $inet, $inet6, $netlink ) = ( 1, 2, 10, 16 ); # getifaddrs needs netlink

# XFS_IOC_ALLOCSP, ALLOCSP64; FS_IOC_RESVSP, RESVSP64, ZERO_RANGE, which every file system knows; FS_IOC_FSSETXATTR.
my @ioctls = ( 0x4030580A, 0x40305824, 0x40305828, 0x4030582A, 0x40305839, 0x401C5820 );

sub fail { print STDERR "seccomp.pl: $_[0]\n"; exit 5 }

my $name    = ( POSIX::uname() )[4];
my $machine = $machines{$name} or fail("no filter for the architecture $name");

# struct sock_filter { code, jump if true, jump if false, k }; struct seccomp_data { nr 0, arch 4, ip 8, args 16 }.
my ( $LOAD, $EQUAL, $AT_LEAST, $RETURN ) = ( 0x20, 0x15, 0x35, 0x06 );
my ( $ALLOW, $ERRNO ) = ( 0x7FFF0000, 0x00050000 );
my $NR = 0;
my ( $ARCHITECTURE, $FIRST, $SECOND, $THIRD ) = ( 4, 16, 24, 32 ); # of the arguments, the lower half is read
my @netlinks  = (0);                                                  # NETLINK_ROUTE
my @protocols = ( 0, 1, 6, 17, 58 );                                  # the default, ICMP, TCP, UDP, ICMPv6
my %answers   = (
    allow       => $ALLOW,
    unknown     => $ERRNO | ENOSYS,
    unsupported => $ERRNO | EOPNOTSUPP,
    no_family   => $ERRNO | EAFNOSUPPORT,
    no_protocol => $ERRNO | EPROTONOSUPPORT,
);

# With the names of places to jump to, of which a string alone is one: [code, true, false, k], where undef is the next.
my @filter = (
    [ $LOAD, undef, undef, $ARCHITECTURE ],
    [ $EQUAL, undef, 'unknown', $machine->{audit} ],
    [ $LOAD, undef, undef, $NR ],
    [ $AT_LEAST, 'unknown', undef, $x32 ],
    ( map { [ $EQUAL, 'unknown', undef, $_ ] } $uring_setup .. $uring_register, @{ $machine->{keys} } ),
    [ $EQUAL, 'unsupported', undef, $machine->{fallocate} ],
    [ $EQUAL, 'ioctl', undef, $machine->{ioctl} ],
    [ $EQUAL, 'socket', 'allow', $machine->{socket} ],
    'ioctl',
    [ $LOAD, undef, undef, $SECOND ],
    ( map { [ $EQUAL, 'unsupported', undef, $_ ] } @ioctls ),
    [ $RETURN, undef, undef, $ALLOW ],
    'socket',
    [ $LOAD, undef, undef, $FIRST ],
    [ $EQUAL, 'allow', undef, $unix ],
    [ $EQUAL, 'netlink', undef, $netlink ],
    [ $EQUAL, 'ip', undef, $inet ],
    [ $EQUAL, 'ip', 'no_family', $inet6 ],
    'netlink',
    [ $LOAD, undef, undef, $THIRD ],
    ( map { [ $EQUAL, 'allow', undef, $_ ] } @netlinks ),
    [ $RETURN, undef, undef, $answers{no_protocol} ],
    'ip',
    [ $LOAD, undef, undef, $THIRD ],
    ( map { [ $EQUAL, 'allow', undef, $_ ] } @protocols ),
    [ $RETURN, undef, undef, $answers{no_protocol} ],
    ( map { ( $_, [ $RETURN, undef, undef, $answers{$_} ] ) } sort keys %answers ),
);

# Each name is the number of the instruction after it.
my ( %place, @instructions );
for my $line (@filter) {
    if   ( ref $line ) { push @instructions, $line }
    else               { $place{$line} = @instructions }
}
for my $at ( 0 .. $#instructions ) {
    for my $jump ( @{ $instructions[$at] }[ 1, 2 ] ) { $jump = defined $jump ? $place{$jump} - $at - 1 : 0 }
}
my $code    = join '', map { pack 'SCCL', @$_ } @instructions;
my $program = pack 'S x![P] P', scalar @instructions, $code;

my ( $PR_SET_NO_NEW_PRIVS, $SECCOMP_SET_MODE_FILTER ) = ( 38, 1 );
syscall( $machine->{prctl}, $PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0 ) == 0 or fail("no_new_privs: $!");
syscall( $machine->{seccomp}, $SECCOMP_SET_MODE_FILTER, 0, $program ) == 0 or fail("seccomp: $!");

my ( $vsock, $stream ) = ( 40, 1 );
syscall( $machine->{socket}, $vsock, $stream, 0 ) < 0 && $! == EAFNOSUPPORT or fail('AF_VSOCK is still open');
syscall( $uring_setup, 1, 0 ) < 0 && $! == ENOSYS or fail('io_uring is still open');
syscall( $_, 0, 0, 0, 0, 0 ) < 0 && $! == ENOSYS or fail('the keys of the kernel are still open')
    for @{ $machine->{keys} };
my ( $sctp, $netfilter ) = ( 132, 12 );
syscall( $machine->{socket}, $inet, $stream, $sctp ) < 0 && $! == EPROTONOSUPPORT or fail('SCTP is still open');
syscall( $machine->{socket}, $netlink, 3, $netfilter ) < 0 && $! == EPROTONOSUPPORT or fail('netfilter is still open');
my $no_file = -1; # the kernel itself would answer EBADF
syscall( $machine->{fallocate}, $no_file, 0, 0, 1 ) < 0 && $! == EOPNOTSUPP or fail('fallocate is still open');
syscall( $machine->{ioctl}, $no_file, $_, 0 ) < 0 && $! == EOPNOTSUPP or fail("ioctl $_ is still open") for @ioctls;
syscall( $machine->{ioctl}, $no_file, 0x5401, 0 ) < 0 && $! == EBADF or fail("the filter refuses other ioctls: $!");
for my $good ( [ $inet, $stream, 0 ], [ $inet6, 2, 17 ], [ $unix, $stream, 0 ], [ $netlink, 3, 0 ] ) {
    my $socket = syscall( $machine->{socket}, @$good );
    $socket >= 0 || $good->[0] == $inet6 or fail("the filter refuses sockets (@$good): $!");
    POSIX::close($socket) if $socket >= 0;
}

@ARGV or fail('no command');
exec { $ARGV[0] } @ARGV or fail("$ARGV[0]: $!");
