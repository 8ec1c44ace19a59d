"""Runs of the command by several ranks; without MPI in the build there is nothing to run.

ctest gives TESSERA_MPIRUN, the words that start ranks but for their number: "/usr/bin/mpiexec -n".
"""
import os

import cli_case

MPIRUN = os.environ.get("TESSERA_MPIRUN", "").split()


class RanksCase(cli_case.CliCase):
    """Each number of ranks gives what one gives."""

    def ranks(self, count, *words, code=0, **options):
        """Runs the command as `count` ranks; what mpirun itself has to say is taken off."""
        program = [*MPIRUN, str(count), cli_case.PROGRAM]
        ran = self.run_tessera(*words, program=program, **options)
        self.assertEqual(ran.code, code, f"{count} ranks: {words}\n{ran.out}\n{ran.err}")
        return ran

    def numbers(self):
        return (2, 4) if MPIRUN else ()
