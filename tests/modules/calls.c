/* Calls of an exported allreduce, or of a reduce to an end of a line (-DLINE). */
#include EXPORTED
#include <stdio.h>

static void product(void *left, void *right, int *length, MPI_Datatype *type)
{
    int *a = left, *b = right;
    (void)type;
    for (int i = 0; i < *length; i++, a += 4, b += 4) {
        int c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                    a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

#ifndef LINE
static void thirds(void *left, void *right, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)right)[3 * i] += ((int *)left)[3 * i];
}
#endif

int main(int argc, char **argv)
{
    int rank, errors = 0;
    MPI_Datatype matrix, sparse;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(4, MPI_INT, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(product, 0, &op);
    int ours[20], theirs[20], in[20], kept[20];
    for (int i = 0; i < 20; i++)
        in[i] = (rank * 7 + i * 3) % 5 - 2, ours[i] = theirs[i] = 0;
    memcpy(kept, in, sizeof in);
#ifdef LINE
    errors += reduce(in, ours, 5, matrix, op, ROOT, comm) != MPI_SUCCESS;
    MPI_Reduce(in, theirs, 5, matrix, op, ROOT, comm);
    errors += rank == ROOT && memcmp(ours, theirs, sizeof ours) != 0;
    errors += reduce(in, ours, 5, matrix, op, 1, comm) == MPI_SUCCESS;
    (void)sparse;
#else
    errors += allreduce(in, ours, 5, matrix, op, comm) == MPI_SUCCESS; /* another order */
    errors += allreduce(in, ours, 5 + (rank == 1), MPI_INT, MPI_SUM, comm) == MPI_SUCCESS;
    errors += allreduce(in, ours, 5, rank ? MPI_INT : MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS;
    errors += allreduce(in, ours, -1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS;
    errors += allreduce(in, ours, 5, MPI_INT, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS;
    for (int turn = 0; turn < 3; turn++) { /* the second call has kept requests */
        memset(ours, 0, sizeof ours);
        errors += allreduce(in, ours, 20 - turn / 2, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS;
        MPI_Allreduce(in, theirs, 20 - turn / 2, MPI_INT, MPI_MAX, comm);
        errors += memcmp(ours, theirs, (size_t)(20 - turn / 2) * sizeof *ours) != 0;
    }
    /* One int in three is moved and added; the gaps stay as they are. */
    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &sparse);
    MPI_Type_commit(&sparse);
    for (int i = 0; i < 20; i++)
        ours[i] = 99;
    MPI_Op_create(thirds, 1, &op);
    MPI_Allreduce(in, theirs, 20, MPI_INT, MPI_SUM, comm);
    errors += allreduce(in, ours, 6, sparse, op, comm) != MPI_SUCCESS;
    for (int i = 0; i < 20; i++)
        errors += ours[i] != (i % 3 || i > 15 ? 99 : theirs[i]);
    float x[37], y[37];
    for (int i = 0; i < 37; i++)
        x[i] = 1.0f / (float)(1 + rank * 7 + i);
    errors += allreduce(x, y, 37, MPI_FLOAT, MPI_SUM, comm) != MPI_SUCCESS;
    for (int i = 0; rank == 0 && i < 37; i++) {
        uint32_t bits;
        memcpy(&bits, &y[i], sizeof bits);
        printf("%08x\n", bits);
    }
#endif
    errors += memcmp(in, kept, sizeof in) != 0;
    if (errors)
        printf("rank %d: %d errors\n", rank, errors);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return errors != 0;
}
