#!/usr/bin/perl
# Runs a command under a seccomp filter that leaves no way around the firewall and the watch over the disk:
#
#   seccomp.pl COMMAND [ARGUMENT...]
#
# nftables judges IPv4 and IPv6. So sockets of other families are refused (AF_VSOCK would reach the host of a virtual
# machine), and so are io_uring, which makes sockets without the socket call, and system calls of another
# architecture, whose numbers differ.
#
# A watch sees a disk fill at the speed of writing, but one call of fallocate takes all of it at once (and with
# FALLOC_FL_KEEP_SIZE no limit on the size of a file applies). So it is refused as on a file system that does not know
# it, and so are the ioctls that do the same, or that move a file out of its project's quota.
#
# Needs no_new_privs or CAP_SYS_ADMIN, and perl-base alone.
#
# Exit codes: the command's; 5 when the filter could not be installed or has no effect.
use strict;
use warnings;
use Errno qw(EAFNOSUPPORT EBADF ENOSYS EOPNOTSUPP);
use POSIX ();

# Numbers from the kernel's audit.h, unistd.h and fs.h.
my %machines = (
    x86_64  => { audit => 0xC000003E, prctl => 157, seccomp => 317, socket => 41, fallocate => 285, ioctl => 16 },
    aarch64 => { audit => 0xC00000B7, prctl => 167, seccomp => 277, socket => 198, fallocate => 47, ioctl => 29 },
);
my ( $uring_setup, $uring_register ) = ( 425, 427 );    # and 426, on both
my $x32 = 0x40000000;                                   # the bit of x86's third set of calls
my @families = ( 1, 2, 10, 16 );                        # unix, inet, inet6, netlink (which getifaddrs asks)

# XFS_IOC_ALLOCSP, ALLOCSP64; FS_IOC_RESVSP, RESVSP64, ZERO_RANGE, which every file system knows; FS_IOC_FSSETXATTR.
my @ioctls = ( 0x4030580A, 0x40305824, 0x40305828, 0x4030582A, 0x40305839, 0x401C5820 );

sub fail { print STDERR "seccomp.pl: $_[0]\n"; exit 5 }

my $name    = ( POSIX::uname() )[4];
my $machine = $machines{$name} or fail("no filter for the architecture $name");

# struct sock_filter { code, jump if true, jump if false, k }; struct seccomp_data { nr 0, arch 4, ip 8, args 16 }.
my ( $LOAD, $EQUAL, $AT_LEAST, $RETURN ) = ( 0x20, 0x15, 0x35, 0x06 );
my ( $ALLOW, $ERRNO ) = ( 0x7FFF0000, 0x00050000 );
my @filter = (
    [ $LOAD,     0, 0, 4 ],
    [ $EQUAL,    1, 0, $machine->{audit} ],
    [ $RETURN,   0, 0, $ERRNO | ENOSYS ],
    [ $LOAD,     0, 0, 0 ],
    [ $AT_LEAST, 0, 1, $x32 ],
    [ $RETURN,   0, 0, $ERRNO | ENOSYS ],
    [ $AT_LEAST, 0, 2, $uring_setup ],
    [ $AT_LEAST, 1, 0, $uring_register + 1 ],
    [ $RETURN,   0, 0, $ERRNO | ENOSYS ],
    [ $EQUAL,    0, 1, $machine->{fallocate} ],
    [ $RETURN,   0, 0, $ERRNO | EOPNOTSUPP ],
    [ $EQUAL,    0, @ioctls + 3, $machine->{ioctl} ],
    [ $LOAD,     0, 0, 24 ],
    ( map { [ $EQUAL, @ioctls - $_, 0, $ioctls[$_] ] } 0 .. $#ioctls ),
    [ $RETURN, 0, 0, $ALLOW ],
    [ $RETURN, 0, 0, $ERRNO | EOPNOTSUPP ],
    [ $EQUAL,  0, @families + 2, $machine->{socket} ],
    [ $LOAD,     0, 0, 16 ],
    ( map { [ $EQUAL, @families - $_, 0, $families[$_] ] } 0 .. $#families ),
    [ $RETURN, 0, 0, $ERRNO | EAFNOSUPPORT ],
    [ $RETURN, 0, 0, $ALLOW ],
);
my $code    = join '', map { pack 'SCCL', @$_ } @filter;
my $program = pack 'S x![P] P', scalar @filter, $code;

my ( $PR_SET_NO_NEW_PRIVS, $SECCOMP_SET_MODE_FILTER ) = ( 38, 1 );
syscall( $machine->{prctl}, $PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0 ) == 0 or fail("no_new_privs: $!");
syscall( $machine->{seccomp}, $SECCOMP_SET_MODE_FILTER, 0, $program ) == 0 or fail("seccomp: $!");

my ( $vsock, $stream ) = ( 40, 1 );
syscall( $machine->{socket}, $vsock, $stream, 0 ) < 0 && $! == EAFNOSUPPORT or fail('AF_VSOCK is still open');
syscall( $uring_setup, 1, 0 ) < 0 && $! == ENOSYS or fail('io_uring is still open');
my $no_file = -1;    # which the kernel itself would answer by EBADF
syscall( $machine->{fallocate}, $no_file, 0, 0, 1 ) < 0 && $! == EOPNOTSUPP or fail('fallocate is still open');
syscall( $machine->{ioctl}, $no_file, $_, 0 ) < 0 && $! == EOPNOTSUPP or fail("ioctl $_ is still open") for @ioctls;
syscall( $machine->{ioctl}, $no_file, 0x5401, 0 ) < 0 && $! == EBADF or fail("the filter refuses other ioctls: $!");
my $tcp = syscall( $machine->{socket}, 2, $stream, 0 );
$tcp >= 0 or fail("the filter refuses TCP: $!");
POSIX::close($tcp);

@ARGV or fail('no command');
exec { $ARGV[0] } @ARGV or fail("$ARGV[0]: $!");
